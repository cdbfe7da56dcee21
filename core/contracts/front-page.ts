/**
 * The contract for pages that contribute to the front page. The front page is built once per snapshot, and is the same
 * for all readers.
 */
import type { Document } from './dataset.js';

/** A shape in a drawing. Colours are names of design tokens, such as `rise-3` for the CSS variable `--rise-3`. */
export interface Shape {
  /** SVG path data. Supported commands: M, m, L, l, H, h, V, v, Z and z. */
  readonly path: string;
  readonly fill?: string;
  readonly stroke?: string;
  /** The line width in drawing units. */
  readonly width?: number;
  readonly title?: string;
  /** The link target, relative to the root of the service, such as `/explore#/markets/26420`. */
  readonly href?: string;
}

export interface Label {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly anchor?: 'start' | 'middle' | 'end';
}

/** A drawing of lines and polygons. The front page shows drawings as SVG. Link previews show them as PNG. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** The shapes of the drawing. Later shapes cover earlier ones. */
  readonly shapes: readonly Shape[];
  /** Text labels, which are part of the SVG but not of the PNG. */
  readonly labels?: readonly Label[];
  /** The font size in drawing units. */
  readonly textSize?: number;
}

export interface FrontPageFigure {
  readonly title: string;
  /** The text alternative of the figure, for screen readers. */
  readonly description: string;
  readonly drawing: Drawing;
  readonly legend?: readonly { readonly color: string; readonly label: string }[];
  readonly note: string;
  /** Ids of the sources of the data. The page shows when an update was due if one of them is late. */
  readonly sources?: readonly string[];
  /** A page with more details, relative to the root of the service, such as `/explore`. */
  readonly href: string;
}

export interface Finding {
  /** The number to show in large type, such as `+3.1%`. */
  readonly figure: string;
  readonly sentence: string;
  readonly href?: string;
}

export interface FrontPageItem {
  readonly title: string;
  readonly text: string;
  readonly href: string;
}

export interface FrontPageContent {
  /** The most important findings in the current data, at most three. */
  readonly findings?: readonly Finding[];
  readonly figure?: FrontPageFigure;
  readonly items?: readonly FrontPageItem[];
  /** Sentences about the source of the findings, such as the model and the date of the data. */
  readonly about?: readonly string[];
  /** A search form for the page. Submitting the form opens `path` with the search text in the query parameter `q`. */
  readonly search?: { readonly path: string; readonly label: string; readonly placeholder: string };
  /** Links to views of the page, shown in the header. */
  readonly views?: readonly { readonly title: string; readonly href: string }[];
}

export interface FrontPageContext {
  /**
   * Sends a GET request without an API key. Resolves with the JSON body of a 200 response, or with undefined if the
   * endpoint needs a key. Rejects on all other errors, and the front page then omits the content of this page.
   * @param target path and query relative to the base path, such as `/movers?limit=5`
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema of the endpoint defines the body
  get(target: string): Promise<any>;
  /**
   * Requests pages of a list until `most` rows have been received. Returns `total`, the number of rows in the whole
   * list, or undefined if the endpoint does not report a total.
   * @param target path and query relative to the base path, without `limit` and `after`
   */
  list<Row = Document>(
    target: string,
    most: number,
  ): Promise<{ readonly rows: readonly Row[]; readonly total: number | undefined } | undefined>;
}
