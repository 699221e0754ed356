// The facts that a machine's object goes by: the last good ones in SQLite, of refused ones their fault in memory.
import type { ReportAnswer } from "../../shared/protocol/report.ts";
import type { Settings } from "../../shared/protocol/settings.ts";
import type { Fault, ReportedFacts } from "./parse-report.ts";
import { storeFacts, type Witness } from "./contact.ts";

export interface KnownFacts {
  /** Not stored yet, and not refused: has to be sent. */
  isNews: (digest: string) => boolean;
  /** What came with a report that is acted on; good ones are in SQLite before it returns. */
  take: (digest: string, facts: ReportedFacts) => void;
  /** For the answer to a report with these facts. */
  refused: (digest: string) => Pick<ReportAnswer, "factsRefused">;
  settings: () => Settings | undefined;
  leaseMs: () => number;
  /** Another machine has the name. */
  forget: () => void;
}

/** Until the first facts tell another one: the kubelet's nodeLeaseDurationSeconds. */
const DEFAULT_LEASE_SECONDS = 40;

export function knownFacts(witness: () => Witness): KnownFacts {
  let refused: { digest: string; fault: Fault } | undefined;
  const stored = () => witness().records.get("facts");
  const settings = () => stored()?.facts.settings;
  return {
    isNews: (digest) => stored()?.digest !== digest && refused?.digest !== digest,
    take(digest, facts) {
      if (facts.kind === "refused") refused = { digest, fault: facts.fault };
      if (facts.kind !== "good") return;
      storeFacts(witness(), digest, facts.facts);
      refused = undefined;
    },
    refused: (digest) => (refused?.digest === digest ? { factsRefused: refused.fault } : {}),
    settings,
    leaseMs: () => (settings()?.nodeLeaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000,
    forget: () => (refused = undefined),
  };
}
