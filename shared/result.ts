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

/** The value, or what stands in for it. */
export function valueOr<T, F>(result: Result<T, unknown>, fallback: F): T | F {
  return result.ok ? result.value : fallback;
}

/** The error, or null: for lists of what is wrong. */
export function errorOrNull<E>(result: Result<unknown, E>): E | null {
  return result.ok ? null : result.error;
}
