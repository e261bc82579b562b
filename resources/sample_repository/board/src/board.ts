import { untilWords } from "./clock.js";
import { type Board, type BoardRow, type State } from "./records.js";

const WORDS: Record<State, string> = {
  planned: "is expected",
  alongside: "lies here",
  free: "free",
  closed: "closed",
};

/** Berths with somebody at them first, the soonest to leave on top. */
export function inOrder(rows: readonly BoardRow[]): BoardRow[] {
  return [...rows].sort((a, b) => {
    if ((a.vessel === "") !== (b.vessel === "")) {
      return a.vessel === "" ? 1 : -1;
    }
    return a.until.localeCompare(b.until) || a.berth.localeCompare(b.berth);
  });
}

function cell(text: string, name: string): HTMLTableCellElement {
  const made = document.createElement("td");
  made.className = name;
  made.textContent = text;
  return made;
}

function line(row: BoardRow, now: Date): HTMLTableRowElement {
  const made = document.createElement("tr");
  made.dataset.state = row.state;
  made.append(
    cell(row.berth, "berth"),
    cell(row.vessel, "vessel"),
    cell(WORDS[row.state], "state"),
    cell(untilWords(now, row.until), "until"),
  );
  return made;
}

export function showBoard(target: HTMLElement, board: Board, now: Date): void {
  const table = document.createElement("table");
  table.append(...inOrder(board.rows).map((row) => line(row, now)));
  target.replaceChildren(table);
}
