// Tables for spreadsheets, twin of explorer/analysis/spreadsheet.py. Pure.

// Twin of explorer/analysis/spreadsheet.py: a text that a spreadsheet would run gets an apostrophe in front.
export function csvTable(head, body) {
  const cell = (value) => {
    if (value === null) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r＝＋－＠]/.test(value) ? "'" + value : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [head, ...body].map((row) => row.map(cell).join(",") + "\r\n").join("");
}
