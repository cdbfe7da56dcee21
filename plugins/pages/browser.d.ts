/** Globals that the pages load by a script element. */
declare const uPlot: import('uplot').default & typeof import('uplot').default;
