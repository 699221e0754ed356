// Lists the terms of a search with examples, for the page's first load, which has no parser of searches.

/** The names of the terms: parameters of the API. `selector` and `text` are written without a name. */
export const SEARCH_FIELDS = [
  "state",
  "phase",
  "condition",
  "version",
  "address",
  "beside",
  "token",
  "unused",
  "since",
  "until",
] as const;
export type SearchField = (typeof SEARCH_FIELDS)[number];
export type SearchParameter = SearchField | "selector" | "text";

/** An example of each term, for the help and for error messages. */
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
