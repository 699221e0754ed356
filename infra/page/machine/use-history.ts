// A machine's history as it is asked for: pages, put together; the newest again when the machine changes.
import { useEffect, useState } from "preact/hooks";
import type { HistoryAnswer, HistoryEntry } from "../../../shared/protocol/operator-answers.ts";
import type { AskFault } from "../base/api.ts";
import { machinePath } from "../base/machine-path.ts";
import { usePage } from "../page.ts";
import { useAgainOnChange } from "../parts/use-again-on-change.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { withNewest } from "./history-pages.ts";

const PAGE_OF_HISTORY = 20;

export interface ShownHistory {
  /** Newest first; null: there was no answer yet. */
  entries: readonly HistoryEntry[] | null;
  fault: AskFault | null;
  hasOlder: boolean;
  isAskingOlder: boolean;
  older: () => void;
  again: () => void;
}

interface Wanted {
  kind: string;
  text: string;
}

/** The machine's object searches no text, the fleet index does: it has the same lines. */
export function useHistory(name: string, { kind, text }: Wanted, change: string): ShownHistory {
  const { ask } = usePage();
  const path = text === "" ? machinePath(name, "/history") : "/v1/history";
  const query: Record<string, string> = {
    limit: String(PAGE_OF_HISTORY),
    ...(kind !== "" && { kind }),
    ...(text !== "" && { name, text }),
  };
  const newest = useAnswer<HistoryAnswer>(path, query);
  const wanted = JSON.stringify([path, kind, text]);
  const [known, setKnown] = useState<{
    wanted: string;
    entries: readonly HistoryEntry[];
    isAll: boolean;
  } | null>(null);
  const [asking, setAsking] = useState(false);
  const [fault, setFault] = useState<AskFault | null>(null);
  useAgainOnChange(newest, change);
  useEffect(() => {
    const entries = newest.value?.entries;
    if (!entries || newest.isAsking) return;
    setKnown((before) => {
      const isSame = before?.wanted === wanted;
      const all = isSame ? withNewest(before.entries, entries) : entries;
      const isAll = isSame && all.length > entries.length ? before.isAll : entries.length < PAGE_OF_HISTORY;
      return { wanted, entries: all, isAll };
    });
  }, [newest.value, newest.isAsking]);
  const older = async () => {
    const last = known?.entries.at(-1);
    if (!last || asking) return;
    setAsking(true);
    const page = await ask<HistoryAnswer>("GET", path, { query: { ...query, before: String(last.id) } });
    setAsking(false);
    setFault(page.ok ? null : page.error);
    if (!page.ok) return;
    const { entries } = page.value;
    setKnown((before) =>
      before?.wanted === wanted && before.entries.at(-1)?.id === last.id
        ? { wanted, entries: [...before.entries, ...entries], isAll: entries.length < PAGE_OF_HISTORY }
        : before,
    );
  };
  return {
    entries: known?.entries ?? null,
    fault: newest.fault ?? fault,
    hasOlder: known !== null && !known.isAll,
    isAskingOlder: asking,
    older: () => void older(),
    again: newest.again,
  };
}
