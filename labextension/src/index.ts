// The JupyterLab plugin, which shows cells and files that begin with %%cuda as CUDA C++ with line numbers.

import { LRLanguage } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { lineNumbers } from '@codemirror/view';
import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import {
  EditorExtensionRegistry,
  IEditorExtensionRegistry,
  IEditorLanguageRegistry
} from '@jupyterlab/codemirror';

import { cuda } from './cuda';
import { whileKernel } from './cell';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'gpulab:kernel-cells',
  description: 'Shows cells that start with %%cuda as CUDA C++ with line numbers.',
  autoStart: true,
  requires: [IEditorExtensionRegistry, IEditorLanguageRegistry],
  activate: (
    _app: unknown,
    extensions: IEditorExtensionRegistry,
    languages: IEditorLanguageRegistry
  ) => {
    // The C++ parser is part of JupyterLab and is loaded when the first kernel cell needs it.
    // gpulab's messages name lines; CodeMirror shows the numbers once if they are also switched on by the user.
    const load = async (): Promise<Extension> => {
      const cpp = (await languages.getLanguage('C++'))?.support?.language;
      return [lineNumbers(), cpp instanceof LRLanguage ? cuda(cpp) : []];
    };
    let loaded: Promise<Extension> | undefined;
    extensions.addExtension({
      name: 'gpulab:kernel-cells',
      factory: () =>
        EditorExtensionRegistry.createImmutableExtension(whileKernel(() => (loaded ??= load())))
    });
  }
};

export default plugin;
