// Labels, annotations and taints in groups that can be read, with who has set them where that is known. Pure.

export interface MarkRow {
  key: string;
  value: string;
  /** The field manager; "": not known. */
  manager: string;
}

export interface MarkGroup {
  /** The keys' prefix: `kubernetes.io`; "": they have none. */
  prefix: string;
  rows: MarkRow[];
}

type Managers = Readonly<Record<string, string>> | undefined;

/** By prefix: those without one first, then rollcall's own, then by name. */
export function markGroups(marks: Readonly<Record<string, string>>, managers: Managers): MarkGroup[] {
  const groups = new Map<string, MarkRow[]>();
  for (const key of Object.keys(marks).sort()) {
    const prefix = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
    const rows = groups.get(prefix) ?? [];
    groups.set(prefix, [...rows, { key, value: marks[key] ?? "", manager: managers?.[key] ?? "" }]);
  }
  const rank = (prefix: string) => (prefix === "" ? 0 : prefix.endsWith("rollcall.dev") ? 1 : 2);
  return [...groups]
    .map(([prefix, rows]) => ({ prefix, rows }))
    .toSorted((a, b) => rank(a.prefix) - rank(b.prefix) || (a.prefix < b.prefix ? -1 : 1));
}

interface ShownTaint {
  key: string;
  value?: string;
  effect: string;
}

/** As kubectl writes them: `key=value:effect`. */
export function taintRows(taints: readonly ShownTaint[], managers: Managers): MarkRow[] {
  return taints.map(({ key, value, effect }) => ({
    key: `${key}${value ? `=${value}` : ""}`,
    value: effect,
    manager: managers?.[`${key}:${effect}`] ?? "",
  }));
}
