/** What a page contributes to the front page of the service, which is built once per snapshot for all readers. */
import type { Document } from './dataset.js';

/** A shape of a drawing. Colours are names of design tokens, such as `rise-3` for `--rise-3`. */
export interface Shape {
  /** SVG path data with the commands M, m, L, l, H, h, V, v, Z and z. */
  readonly path: string;
  readonly fill?: string;
  readonly stroke?: string;
  /** The width of the stroke, in drawing units. */
  readonly width?: number;
  /** Browsers show the title when the pointer is on the shape. */
  readonly title?: string;
  /** The address to open, relative to the path of the service: `/explore#/markets/26420`. */
  readonly href?: string;
}

export interface Label {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly anchor?: 'start' | 'middle' | 'end';
}

/** A drawing of lines and polygons. The front page shows it as SVG, and as PNG where a link to the page is shared. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** In drawing order: later shapes cover earlier ones. */
  readonly shapes: readonly Shape[];
  /** Text labels in the page's font. The PNG has no text. */
  readonly labels?: readonly Label[];
  /** The height of the letters, in drawing units. */
  readonly textSize?: number;
}

export interface FrontPageFigure {
  readonly title: string;
  /** What the figure shows, for readers who cannot see it. */
  readonly description: string;
  readonly drawing: Drawing;
  readonly legend?: readonly { readonly color: string; readonly label: string }[];
  /** Units, dates and sources. */
  readonly note: string;
  /** The page with more details, relative to the path of the service: `/explore`. */
  readonly href: string;
}

export interface Finding {
  /** The number to show in large type: `+3.1%`. */
  readonly figure: string;
  /** One sentence in plain words that contains the number. */
  readonly sentence: string;
  readonly href?: string;
}

/** One part of the published data, such as a table. */
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
  /** Sentences about the origin of the findings: run, model, vintage. */
  readonly about?: readonly string[];
  /** The page's search. Its address gets the search text in the parameter `q`. */
  readonly search?: { readonly path: string; readonly label: string; readonly placeholder: string };
}

export interface FrontPageContext {
  /**
   * Requests an endpoint as a caller without a key. Resolves with the JSON body of a 200, or with undefined if such
   * callers may not use the endpoint. Rejects with other errors; the front page then omits the content for a moment.
   * @param target path and query relative to the base path: `/movers?limit=5`
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema of the endpoint defines the body
  get(target: string): Promise<any>;
  /**
   * Like `get`, for a list with pages. Reads pages until it has `most` rows. `total` is the number of rows in all pages,
   * or undefined if it is unknown.
   * @param target without `limit` and `after`
   */
  list<Row = Document>(
    target: string,
    most: number,
  ): Promise<{ readonly rows: readonly Row[]; readonly total: number | undefined } | undefined>;
}
