// CUDA C++ for CodeMirror: the C++ parser without the CUDA syntax, and decorations for that syntax.

import { highlightingFor, syntaxTree, type LRLanguage } from '@codemirror/language';
import { Prec, RangeSetBuilder, type Extension } from '@codemirror/state';
import {
  Decoration,
  ViewPlugin,
  type DecorationSet,
  type EditorView,
  type PluginValue,
  type ViewUpdate
} from '@codemirror/view';
import type { Input } from '@lezer/common';
import { tags, type Tag } from '@lezer/highlight';

const HEADER = /^\s*%%cuda[^\n]*/;

// Qualifiers such as __global__ and __shared__, and __launch_bounds__(256) with its arguments.
const QUALIFIER = /\b__[a-z_]+__\b(\s*\((?:[^()]|\([^()]*\))*\))?/g;

// Types are included because JupyterLab's theme has no colour for the types of C++.
const WORD = new RegExp(
  [
    /^\s*(?<header>%%cuda)/,
    /\b(?<keyword>__[a-z_]+__)\b/,
    /\b(?<builtin>threadIdx|blockIdx|blockDim|gridDim|warpSize|__[a-z]\w*|atomic[A-Z]\w*)\b/,
    /\b(?<type>(?:u?(?:char|short|int|long(?:long)?)|float|double)[1-4]?)\b/,
    /\b(?<other>void|bool|half2?|dim3|u?int\d+_t|size_t|ptrdiff_t|(?:un)?signed)\b/
  ]
    .map(part => part.source)
    .join('|'),
  'g'
);
const TAGS: Record<string, Tag> = {
  header: tags.operator,
  keyword: tags.keyword,
  builtin: tags.standard(tags.variableName),
  type: tags.standard(tags.variableName),
  other: tags.standard(tags.variableName)
};
const NO_CODE = /Comment|String|CharLiteral/;

/**
 * The document with the header and the qualifiers replaced by spaces, so that positions do not change.
 *
 * The C++ parser misreads the qualifiers: in `__shared__ float a[8];` it does not parse float as a type.
 */
class PlainCpp implements Input {
  private readonly header: number;

  constructor(private readonly text: Input) {
    this.header = HEADER.exec(text.read(0, Math.min(text.length, 2000)))?.[0].length ?? 0;
  }

  get length(): number {
    return this.text.length;
  }

  get lineChunks(): boolean {
    return this.text.lineChunks;
  }

  chunk(from: number): string {
    return this.blank(from, this.text.chunk(from));
  }

  read(from: number, to: number): string {
    return this.blank(from, this.text.read(from, to));
  }

  private blank(from: number, text: string): string {
    const header = Math.min(Math.max(this.header - from, 0), text.length);
    return (
      ' '.repeat(header) + text.slice(header).replace(QUALIFIER, found => found.replace(/[^\n]/g, ' '))
    );
  }
}

/** Returns decorations for the words that PlainCpp hides and for the built-in names of CUDA. */
function marks(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const tree = syntaxTree(view.state);
  for (const { from, to } of view.visibleRanges) {
    // Visible ranges consist of whole lines.
    for (const found of view.state.sliceDoc(from, to).matchAll(WORD)) {
      const [name, word] = Object.entries(found.groups!).find(([, text]) => text !== undefined)!;
      const start = from + found.index! + found[0].indexOf(word);
      if (name === 'header' ? from > 0 : NO_CODE.test(tree.resolveInner(start, 1).name)) {
        continue;
      }
      const style = highlightingFor(view.state, [TAGS[name]]);
      if (style) {
        builder.add(start, start + word.length, Decoration.mark({ class: style }));
      }
    }
  }
  return builder.finish();
}

class Words implements PluginValue {
  marks: DecorationSet;

  constructor(view: EditorView) {
    this.marks = marks(view);
  }

  update({ view, docChanged, viewportChanged, startState, state, transactions }: ViewUpdate): void {
    const parsed = syntaxTree(startState) !== syntaxTree(state);
    const restyled = transactions.some(transaction => transaction.reconfigured);
    if (docChanged || viewportChanged || parsed || restyled) {
      this.marks = marks(view);
    }
  }
}

/** Returns CUDA C++ as an extension of JupyterLab's C++ language. */
export function cuda(cpp: LRLanguage): Extension {
  const language = cpp.configure({
    wrap: (_parse, text, fragments, ranges) =>
      cpp.parser.startParse(new PlainCpp(text), fragments, ranges)
  });
  // The highest precedence puts these decorations inside those of the highlighter, so that their colour applies.
  const words = ViewPlugin.fromClass(Words, { decorations: value => value.marks });
  return [language.extension, Prec.highest(words)];
}
