/** Times as the harbour writes them: `2031-05-04T06:30`, no seconds. */
const STAMP = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})$/;

export function readStamp(text: string): Date | undefined {
  const match = STAMP.exec(text);
  if (match === null) {
    return undefined;
  }
  const [year, month, day, hour, minute] = match.slice(1).map(Number);
  return new Date(Date.UTC(year, month - 1, day, hour, minute));
}

export function writeSpan(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  const days = Math.floor(minutes / 1440);
  const hours = Math.floor((minutes % 1440) / 60);
  const rest = minutes % 60;
  const parts = [
    [days, "d"],
    [hours, "h"],
    [rest, "m"],
  ].filter(([value]) => value !== 0);
  return parts.map(([value, unit]) => `${value}${unit}`).join("") || "0m";
}

/** How long until then, in words for a wall: "3h15m", or "now" when it has passed. */
export function untilWords(now: Date, stamp: string): string {
  const then = readStamp(stamp);
  if (then === undefined) {
    return "";
  }
  const left = then.getTime() - now.getTime();
  return left <= 0 ? "now" : writeSpan(left);
}
