// Requests answers of the Worker for a view: once, again on a change, or regularly.
import type { PathOf } from "../../../shared/protocol/routes.ts";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RequestFault, RequestOptions } from "../base/api.ts";
import { later } from "../base/clock.ts";
import { usePage } from "../page.ts";
import { FaultNotice } from "./notice.tsx";

interface AnsweredProps<T> {
  answer: Answer<T>;
  /** The sentence about a failed request, like "The tokens could not be listed". */
  what: string;
  children: (value: T) => ComponentChildren;
}

export function Answered<T>({ answer, what, children }: AnsweredProps<T>) {
  const { value, fault, again } = answer;
  return (
    <>
      {fault && <FaultNotice what={what} fault={fault} again={again} />}
      {value === null ? !fault && <p class="quiet">Loading …</p> : children(value)}
    </>
  );
}

interface AnsweredSectionProps<T> extends AnsweredProps<T> {
  id: string;
  title: ComponentChildren;
  /** Content next to the heading. */
  aside?: ComponentChildren;
}

export function AnsweredSection<T>({ id, title, aside, ...answered }: AnsweredSectionProps<T>) {
  return (
    <section class="stack" aria-labelledby={id}>
      <header class="row spread">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      <Answered {...answered} />
    </section>
  );
}

/** The answer to a GET. The former value stays during another request, and after it if it fails. */
export interface Answer<T> {
  /** The value. null before the first answer. */
  value: T | null;
  /** The fault of the last request. null if it succeeded or is running. */
  fault: RequestFault | null;
  isLoading: boolean;
  again: () => void;
}

/** Sends a GET when the view is shown, when the query changes, and on `again`. A path of null sends nothing. */
export function useAnswer<T>(
  path: PathOf<"GET"> | null,
  query?: RequestOptions["query"],
  alsoAnswer?: RequestOptions["alsoAnswer"],
): Answer<T> {
  const { ask } = usePage();
  const [state, setState] = useState<Omit<Answer<T>, "again">>({
    value: null,
    fault: null,
    isLoading: path !== null,
  });
  const [round, setRound] = useState(0);
  const former = useRef(path);
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    const stop = new AbortController();
    // The value of another path is about another thing, so the former value is dropped.
    const isSame = former.current === path;
    former.current = path;
    setState((before) => ({ value: isSame ? before.value : null, fault: null, isLoading: path !== null }));
    if (path !== null)
      void ask<T>("GET", path, {
        ...(query && { query }),
        ...(alsoAnswer !== undefined && { alsoAnswer }),
        signal: stop.signal,
      }).then((answer) => {
        if (stop.signal.aborted) return;
        setState((before) => ({
          value: answer.ok ? answer.value : before.value,
          fault: answer.ok ? null : answer.error,
          isLoading: false,
        }));
      });
    return () => stop.abort();
  }, [key, round]);
  return { ...state, again: () => setRound((before) => before + 1) };
}

/** The text for no value yet. The first value is no change, because the view has just sent its request. */
const NO_VALUE = "null";

/** Requests the answer again when the JSON text `change` changes, but lets a running request end first. */
export function useAgainOnChange(
  { isLoading, again }: Pick<Answer<unknown>, "isLoading" | "again">,
  change: string,
): void {
  const before = useRef(NO_VALUE);
  const isDue = useRef(false);
  useEffect(() => {
    if (before.current !== NO_VALUE && before.current !== change) isDue.current = true;
    before.current = change;
    if (!isDue.current || isLoading) return;
    isDue.current = false;
    again();
  }, [change, isLoading]);
}

/** The answer to a GET that is sent regularly while the page is visible. The last answer stays if a request fails. */
export interface Polled<T> {
  /** The value. null before the first answer. */
  value: T | null;
  fault: RequestFault | null;
  now: () => void;
}

const AFTER_FAULT_MS = 5000;

/** Sends a GET regularly. `nextMs` returns milliseconds until the next request, or null to stop. */
export function usePolled<T>(
  path: PathOf<"GET">,
  nextMs: (value: T) => number | null,
  alsoAnswer?: RequestOptions["alsoAnswer"],
): Polled<T> {
  const { ask } = usePage();
  const [state, setState] = useState<Omit<Polled<T>, "now">>({ value: null, fault: null });
  const poll = useRef<() => void>(() => undefined);
  useEffect(() => {
    let callOff = () => {};
    let round = 0;
    const end = new AbortController();
    const pollAfter = (ms: number | null) => {
      if (ms !== null) callOff = later(() => void pollNow(), ms);
    };
    const pollNow = async () => {
      callOff();
      if (document.visibilityState === "hidden") return pollAfter(AFTER_FAULT_MS);
      const own = ++round;
      const answer = await ask<T>("GET", path, {
        ...(alsoAnswer !== undefined && { alsoAnswer }),
        signal: end.signal,
      });
      if (end.signal.aborted || own !== round) return;
      setState((before) =>
        answer.ok ? { value: answer.value, fault: null } : { ...before, fault: answer.error },
      );
      pollAfter(answer.ok ? nextMs(answer.value) : AFTER_FAULT_MS);
    };
    poll.current = () => void pollNow();
    void pollNow();
    return () => {
      end.abort();
      callOff();
    };
  }, [path]);
  return { ...state, now: () => poll.current() };
}
