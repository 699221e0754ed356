// The Worker's answer to one question, for a view: what was there before stays while it is asked again, and when that fails.
import { useEffect, useRef, useState } from "preact/hooks";
import type { AskFault, Question } from "../base/api.ts";
import { usePage } from "../page.ts";

export interface Answer<T> {
  /** null: there has been none yet. */
  value: T | null;
  /** Of the last attempt; null: it succeeded, or is under way. */
  fault: AskFault | null;
  isAsking: boolean;
  again: () => void;
}

/** Asks when the view is shown, when the question changes, and again with `again`. path null: nothing is asked. */
export function useAnswer<T>(
  path: string | null,
  query?: Question["query"],
  alsoAnswer?: Question["alsoAnswer"],
): Answer<T> {
  const { ask } = usePage();
  const [state, setState] = useState<Omit<Answer<T>, "again">>({
    value: null,
    fault: null,
    isAsking: path !== null,
  });
  const [round, setRound] = useState(0);
  const asked = useRef(path);
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    const stop = new AbortController();
    // Another path is about something else: what was shown of the former is not shown any more.
    const isSame = asked.current === path;
    asked.current = path;
    setState((before) => ({ value: isSame ? before.value : null, fault: null, isAsking: path !== null }));
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
          isAsking: false,
        }));
      });
    return () => stop.abort();
  }, [key, round]);
  return { ...state, again: () => setRound((before) => before + 1) };
}
