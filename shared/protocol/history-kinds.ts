// Names the kinds of lines in histories. The page imports this file, and no library of schemas with it.

export const HISTORY_KINDS = [
  "registration",
  "identity",
  "phase",
  "condition",
  "reboot",
  "version",
  "capacity",
  "address",
  "runtime",
  "cloud",
  "hardware",
  "silence",
  "apiserver",
  "clock",
  "state",
] as const;
export type HistoryKind = (typeof HISTORY_KINDS)[number];
