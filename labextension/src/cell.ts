// When a cell is a kernel cell: an extension that is on while the first line says %%cuda.

import { Compartment, Prec, type Extension, type Text } from '@codemirror/state';
import { EditorView, ViewPlugin, type PluginValue, type ViewUpdate } from '@codemirror/view';

// As gpulab.cell reads it: a .cu file has the line behind //.
const MARKER = /^\s*(\/\/\s*)?%%cuda(?=\s|$)/;

/** Whether the first line with something on it is a kernel cell's; the lines after it are not read. */
function isKernel(doc: Text): boolean {
  for (const line of doc.iterLines()) {
    if (/\S/.test(line)) {
      return MARKER.test(line);
    }
  }
  return false;
}

/** What `load` gives, before the notebook's own language, for as long as the text is a kernel cell's. */
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
      // Not at once: a view takes no change while it is making one.
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
