// Defines the result of an operation that can fail as expected: a value, or an error. A bug is thrown instead.

/** The result of an operation. `error` is a text, or an object with a `reason` if callers distinguish errors. */
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

export function valueOr<T, F>(result: Result<T, unknown>, fallback: F): T | F {
  return result.ok ? result.value : fallback;
}

export function errorOrNull<E>(result: Result<unknown, E>): E | null {
  return result.ok ? null : result.error;
}
