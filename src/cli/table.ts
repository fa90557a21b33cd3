/** How one cell is coloured; given the cell as it will be shown, padding left out. */
export type Paint = (cell: string, column: number) => string;

const GAP = "  ";
const INDENT = "    ";

/**
 * Rows as columns of equal width, without lines between them. Cells must be safe to print and on one line. Where a
 * width is given, the last column is cut so that rows fit; the others never are. `below` puts a line of its own under the
 * row of the same index, indented, cut like the last column and coloured as the column after it.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: {
    readonly columns?: number | undefined;
    readonly paint?: Paint;
    readonly below?: readonly (string | undefined)[];
  } = {},
): string {
  const { columns = Infinity, paint, below = [] } = options;
  const last = header.length - 1;
  const widths = header.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, lengthOf(row[column] ?? "")), lengthOf(title))
  );
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = Math.max(8, columns - before);
  const line = (cells: readonly string[], paint?: Paint): string => {
    const painted = header.map((_, column) => {
      const cell = column === last ? shorten(cells[column] ?? "", room) : cells[column] ?? "";
      const padding = column === last ? "" : " ".repeat(widths[column]! - lengthOf(cell));
      return (paint === undefined ? cell : paint(cell, column)) + padding;
    });
    return painted.join(GAP).trimEnd();
  };
  const lines = rows.flatMap((row, index) => {
    const note = below[index];
    if (note === undefined) return [line(row, paint)];
    const text = shorten(note, Math.max(8, columns - INDENT.length));
    return [line(row, paint), INDENT + (paint === undefined ? text : paint(text, header.length))];
  });
  return [line(header), ...lines].map((text) => `${text}\n`).join("");
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
