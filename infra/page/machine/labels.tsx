// Draws the Node's labels, taints and annotations in groups, with the field manager that set each of them.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { type Column, DataTable } from "../parts/table.tsx";
import { shownNodeOf } from "./facts.tsx";
import { Fold, Nothing, Section } from "./section.tsx";

export function LabelsSection({ whole }: { whole: WholeNode }) {
  const { metadata = {}, spec = {} } = shownNodeOf(whole);
  const labels = markGroups(metadata.labels ?? whole.summary?.labels ?? {}, whole.managers?.labels);
  const taints = taintRows(spec.taints ?? [], whole.managers?.taints);
  const annotations = markGroups(metadata.annotations ?? {}, undefined);
  const count = annotations.reduce((sum, { rows }) => sum + rows.length, 0);
  return (
    <Section id="labels">
      <h3>Taints</h3>
      {taints.length === 0 ? (
        <Nothing>None.</Nothing>
      ) : (
        <Marks heads={["Taint", "Effect"]} groups={[{ prefix: "", rows: taints }]} />
      )}
      <h3>Labels</h3>
      {labels.length === 0 ? <Nothing>None.</Nothing> : <Marks heads={["Label", "Value"]} groups={labels} />}
      {count > 0 && (
        <Fold title={`Annotations: ${count}`}>
          <Marks heads={["Annotation", "Value"]} groups={annotations} />
        </Fold>
      )}
    </Section>
  );
}

interface MarksProps {
  heads: [key: string, value: string];
  groups: readonly MarkGroup[];
}

/** Draws groups of labels, taints or annotations. The column of field managers is shown only if one is known. */
function Marks({ heads: [first, second], groups }: MarksProps) {
  const rows = groups.flatMap(({ prefix, rows }) => rows.map((row) => ({ ...row, prefix })));
  const columns: readonly Column<MarkRow & { prefix: string }>[] = [
    { head: first, class: "mono wrap", isRowHead: true, cell: ({ key }) => key },
    {
      head: second,
      class: "mono wrap",
      cell: ({ value }) => (value === "" ? <span class="quiet">(empty)</span> : value),
    },
    ...(rows.some(({ manager }) => manager !== "") ? [SET_BY] : []),
  ];
  return (
    <DataTable
      label={`${first}s`}
      class="machine-marks"
      rows={rows}
      columns={columns}
      keyOf={({ key, value }) => `${key} ${value}`}
      groupOf={({ prefix }) => prefix}
    />
  );
}

const SET_BY: Column<MarkRow> = {
  head: "Set by",
  hint: "The field manager, as the apiserver records it",
  class: "quiet",
  cell: ({ manager }) => manager || "not known",
};

interface MarkRow {
  key: string;
  value: string;
  /** The field manager. "" if not known. */
  manager: string;
}

interface MarkGroup {
  /** The prefix of the group's keys, like `kubernetes.io`. "" for keys without a prefix. */
  prefix: string;
  rows: MarkRow[];
}

type Managers = Readonly<Record<string, string>> | undefined;

/** Groups labels or annotations by prefix: first those without, then rollcall's own, then others by name. */
export function markGroups(marks: Readonly<Record<string, string>>, managers: Managers): MarkGroup[] {
  const rows = Object.entries(marks)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]): MarkRow => ({ key, value, manager: managers?.[key] ?? "" }));
  const groups = Map.groupBy(rows, ({ key }) => (key.includes("/") ? key.slice(0, key.indexOf("/")) : ""));
  const rank = (prefix: string) => (prefix === "" ? 0 : prefix.endsWith("rollcall.dev") ? 1 : 2);
  return [...groups]
    .map(([prefix, rows]) => ({ prefix, rows }))
    .toSorted((a, b) => rank(a.prefix) - rank(b.prefix) || (a.prefix < b.prefix ? -1 : 1));
}

type ShownTaints = NonNullable<NonNullable<ReturnType<typeof shownNodeOf>["spec"]>["taints"]>;

/** Returns the rows of taints, in kubectl's form `key=value:effect`. */
export function taintRows(taints: ShownTaints, managers: Managers): MarkRow[] {
  return taints.map(({ key, value, effect }) => ({
    key: `${key}${value ? `=${value}` : ""}`,
    value: effect,
    manager: managers?.[`${key}:${effect}`] ?? "",
  }));
}
