// How each term of a search is written. Apart from what reads them, which is not in the first load.
import type { SearchParameter } from "./search-terms.ts";

/** For the help, and where nothing is said yet. */
export const EXAMPLES: Readonly<Record<SearchParameter, string>> = {
  text: "berlin",
  selector: "site=berlin,tier!=edge",
  state: "state:silent,blocked",
  phase: 'phase:cloned,"two shims"',
  condition: "condition:MemoryPressure",
  version: "version:<0.2.0",
  address: "address:10.0.0.0/8",
  beside: "beside:edge-7",
  token: "token:ID",
  unused: "unused:true",
  since: "since:2026-11-23T04:00:00Z",
  until: "until:2026-11-23T04:00:00Z",
};
