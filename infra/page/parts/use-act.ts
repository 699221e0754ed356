// One request that changes something: sent once however often the button is pressed, and its failure said where it was asked for.
import { useState } from "preact/hooks";
import type { Result } from "../../../shared/result.ts";
import type { AskFault, AskMethod } from "../base/api.ts";
import { usePage } from "../page.ts";

export interface Act {
  isActing: boolean;
  /** Of the last attempt; null: it succeeded, or there was none. */
  fault: AskFault | null;
  /** null: it failed, as `fault` says, or one is under way. */
  run: <T>(method: AskMethod, path: string, body?: unknown) => Promise<T | null>;
}

/** An answer to DELETE or POST may have no content: then T is typically `true`. */
export function useAct(): Act {
  const { ask } = usePage();
  const [isActing, setActing] = useState(false);
  const [fault, setFault] = useState<AskFault | null>(null);
  return {
    isActing,
    fault,
    async run<T>(method: AskMethod, path: string, body?: unknown) {
      if (isActing) return null;
      setActing(true);
      setFault(null);
      const answer: Result<T, AskFault> = await ask<T>(method, path, { ...(body !== undefined && { body }) });
      setActing(false);
      if (answer.ok) return answer.value ?? (true as T);
      setFault(answer.error);
      return null;
    },
  };
}
