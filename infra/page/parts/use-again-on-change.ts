// Asks again when the feed says that what was asked about has changed.
import { useEffect, useRef } from "preact/hooks";
import type { Answer } from "./use-answer.ts";

/** What the feed tells first is no change: all was asked when the view was opened. */
const NOT_TOLD = "null";

/**
 * `change`: as JSON, what the feed tells of it. A question that is under way is let finish: what changes each second would have
 * no answer else.
 */
export function useAgainOnChange(
  { isAsking, again }: Pick<Answer<unknown>, "isAsking" | "again">,
  change: string,
): void {
  const before = useRef(NOT_TOLD);
  const isDue = useRef(false);
  useEffect(() => {
    if (before.current !== NOT_TOLD && before.current !== change) isDue.current = true;
    before.current = change;
    if (!isDue.current || isAsking) return;
    isDue.current = false;
    again();
  }, [change, isAsking]);
}
