// CUDA C++ for CodeMirror: a C++ parser that does not see what is CUDA's own, and marks for exactly that.

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

// __global__, __shared__, …, and __launch_bounds__(256) with what is in its brackets.
const QUALIFIER = /\b__[a-z_]+__\b(\s*\((?:[^()]|\([^()]*\))*\))?/g;

// Types are here because JupyterLab's theme has no colour for C++'s.
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
 * The text with blanks for the header and the qualifiers: positions stay, and plain C++ is left.
 *
 * With them C++'s parser takes a kernel for something else: in __shared__ float a[8]; float is no type.
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

/** Marks for the words that PlainCpp hides and for those that C++ does not know. */
function marks(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const tree = syntaxTree(view.state);
  for (const { from, to } of view.visibleRanges) {
    // A visible range begins and ends with a line.
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

/** C++ as JupyterLab has it, made into CUDA's. */
export function cuda(cpp: LRLanguage): Extension {
  const language = cpp.configure({
    wrap: (_parse, text, fragments, ranges) =>
      cpp.parser.startParse(new PlainCpp(text), fragments, ranges)
  });
  // Inside the marks of the highlighter, so that these colours are the ones that are seen.
  const words = ViewPlugin.fromClass(Words, { decorations: value => value.marks });
  return [language.extension, Prec.highest(words)];
}
