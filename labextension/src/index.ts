// The JupyterLab plugin: cells and files that start with %%cuda are shown as CUDA C++.

import { LRLanguage } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
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
  description: 'Shows cells that start with %%cuda as CUDA C++.',
  autoStart: true,
  requires: [IEditorExtensionRegistry, IEditorLanguageRegistry],
  activate: (
    _app: unknown,
    extensions: IEditorExtensionRegistry,
    languages: IEditorLanguageRegistry
  ) => {
    // JupyterLab has C++ itself and loads it when the first cell asks: it need not be in here too.
    const load = async (): Promise<Extension> => {
      const cpp = (await languages.getLanguage('C++'))?.support?.language;
      return cpp instanceof LRLanguage ? cuda(cpp) : [];
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
