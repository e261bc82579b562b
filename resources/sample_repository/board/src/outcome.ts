/** Settled with a value, or refused with a reason: the same idea as in the Python half. */
export type Outcome<T> = { readonly settled: true; readonly value: T } | { readonly settled: false; readonly reason: string };

export function settled<T>(value: T): Outcome<T> {
  return { settled: true, value };
}

export function refused<T>(reason: string): Outcome<T> {
  return { settled: false, reason };
}

export function then<A, B>(outcome: Outcome<A>, step: (value: A) => Outcome<B>): Outcome<B> {
  return outcome.settled ? step(outcome.value) : outcome;
}
