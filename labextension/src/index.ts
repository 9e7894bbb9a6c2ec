// The JupyterLab plugin, which highlights cells and files that begin with %%cuda as CUDA C++.

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
    // The C++ parser is part of JupyterLab and is loaded when the first kernel cell needs it.
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
