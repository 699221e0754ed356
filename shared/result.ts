// The one shape of everything that can fail as expected: what came of it, or why it failed. A bug is thrown instead.

/** `error` is a text where the caller only passes it on, and an object with a `reason` where the caller distinguishes. */
export type Result<T, E = string> = Success<T> | Failure<E>;

export interface Success<T> {
  ok: true;
  value: T;
}

export interface Failure<E> {
  ok: false;
  error: E;
}

export function success<T>(value: T): Success<T> {
  return { ok: true, value };
}

export function failure<E>(error: E): Failure<E> {
  return { ok: false, error };
}
