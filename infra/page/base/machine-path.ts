// Where the API has one machine. Pure.

/** `what`: `/timeline`; "": the machine itself. */
export const machinePath = (name: string, what = ""): string =>
  `/v1/nodes/${encodeURIComponent(name)}${what}`;
