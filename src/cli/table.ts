/** How one cell is coloured; given the cell as it will be shown, padding left out. */
export type Paint = (cell: string, column: number) => string;

const GAP = "  ";

/**
 * Rows as columns of equal width, without lines between them. Cells must be safe to print and on one line. Where a
 * width is given, the last column is cut so that rows fit; the others never are.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: { readonly columns?: number | undefined; readonly paint?: Paint } = {},
): string {
  const last = header.length - 1;
  const widths = header.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, lengthOf(row[column] ?? "")), lengthOf(title))
  );
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = options.columns === undefined ? Infinity : Math.max(8, options.columns - before);
  const line = (cells: readonly string[], paint: Paint | undefined): string => {
    const painted = header.map((_, column) => {
      const cell = column === last ? shorten(cells[column] ?? "", room) : cells[column] ?? "";
      const padding = column === last ? "" : " ".repeat(widths[column]! - lengthOf(cell));
      return (paint === undefined ? cell : paint(cell, column)) + padding;
    });
    return painted.join(GAP).trimEnd();
  };
  return [line(header, undefined), ...rows.map((row) => line(row, options.paint))].map((text) => `${text}\n`).join("");
}

/** At most `room` characters; what is cut is marked. */
export function shorten(text: string, room: number): string {
  return lengthOf(text) <= room ? text : `${[...text].slice(0, Math.max(0, room - 1)).join("")}…`;
}

/** Characters as people count them, near enough: emoji of several parts and wide scripts are not measured. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}
