import { type Outcome, refused, settled } from "./outcome.js";

export const STATES = ["planned", "alongside", "free", "closed"] as const;
export type State = (typeof STATES)[number];

/** One line of the board, as `board-export` writes it. */
export interface BoardRow {
  readonly berth: string;
  readonly vessel: string;
  readonly state: State;
  readonly until: string;
}

export interface Board {
  readonly moment: string;
  readonly rows: readonly BoardRow[];
}

function isState(value: unknown): value is State {
  return typeof value === "string" && (STATES as readonly string[]).includes(value);
}

function readRow(value: unknown, index: number): Outcome<BoardRow> {
  if (typeof value !== "object" || value === null) {
    return refused(`row ${index} is no record`);
  }
  const { berth, vessel, state, until } = value as Record<string, unknown>;
  if (typeof berth !== "string" || !berth.trim()) {
    return refused(`row ${index} has no berth`);
  }
  if (!isState(state)) {
    return refused(`row ${index} has no known state`);
  }
  if (typeof vessel !== "string" || typeof until !== "string") {
    return refused(`row ${index} is not complete`);
  }
  return settled({ berth, vessel, state, until });
}

/** Reads what the harbour wrote; the first row that is broken refuses the whole board. */
export function readBoard(text: string): Outcome<Board> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refused("the board is no JSON");
  }
  const { moment, rows } = (value ?? {}) as Record<string, unknown>;
  if (typeof moment !== "string" || !Array.isArray(rows)) {
    return refused("the board has no moment or no rows");
  }
  const read: BoardRow[] = [];
  for (const [index, row] of rows.entries()) {
    const outcome = readRow(row, index);
    if (!outcome.settled) {
      return outcome;
    }
    read.push(outcome.value);
  }
  return settled({ moment, rows: read });
}
