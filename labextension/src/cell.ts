// Detection of kernel cells: an editor extension that is active while the first line begins with %%cuda.

import { Compartment, Prec, type Extension, type Text } from '@codemirror/state';
import { EditorView, ViewPlugin, type PluginValue, type ViewUpdate } from '@codemirror/view';

// The same pattern as in gpulab.cell; in a .cu file the line is a // comment.
const MARKER = /^\s*(\/\/\s*)?%%cuda(?=\s|$)/;

/** Returns whether the first line that is not empty is the header of a kernel cell. */
function isKernel(doc: Text): boolean {
  for (const line of doc.iterLines()) {
    if (/\S/.test(line)) {
      return MARKER.test(line);
    }
  }
  return false;
}

/** Returns an extension that applies the one of `load`, before the notebook's language, to kernel cells only. */
export function whileKernel(load: () => Promise<Extension>): Extension {
  const place = new Compartment();

  class Watch implements PluginValue {
    private on = false;
    private open = true;

    constructor(private readonly view: EditorView) {
      this.look();
    }

    update(update: ViewUpdate): void {
      if (update.docChanged) {
        this.look();
      }
    }

    destroy(): void {
      this.open = false;
    }

    private look(): void {
      const on = isKernel(this.view.state.doc);
      if (on === this.on) {
        return;
      }
      this.on = on;
      // A view does not accept a change during an update, so the extension is changed asynchronously.
      load().then(
        kernel => {
          if (this.open) {
            this.view.dispatch({ effects: place.reconfigure(this.on ? Prec.high(kernel) : []) });
          }
        },
        reason => console.warn('gpulab: kernel cells stay without colours, C++ did not load:', reason)
      );
    }
  }

  return [place.of([]), ViewPlugin.fromClass(Watch)];
}
