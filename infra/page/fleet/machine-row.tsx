// Draws the row of one machine in the table. A row is drawn again only if its machine, place or selection changes.
import { Component, type ComponentChildren } from "preact";
import { CONDITION_EXPLANATIONS } from "../../../shared/fleet/explanations.ts";
import { MAINTENANCE_IN_PROGRESS } from "../../../shared/kubernetes/lifecycle-conditions.ts";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { amountOf, bytesText } from "../base/amounts.ts";
import { hrefOf } from "../base/places.ts";
import { shortDuration } from "../base/relative-time.ts";
import { Link } from "../parts/link.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import {
  amissConditions,
  conditionText,
  type FleetColumn,
  type FleetColumnName,
  ownLabels,
  rolesOf,
} from "./columns.ts";

interface MachineRowProps {
  machine: FeedMachine;
  /** The index among all rows, from 0. */
  index: number;
  columns: readonly FleetColumn[];
  /** true if the row is selected. null if rows cannot be selected. */
  isSelected: boolean | null;
  onSelect: (name: string, isRange: boolean) => void;
}

/** The row is a class, because Preact offers shouldComponentUpdate to classes alone. */
export class MachineRow extends Component<MachineRowProps> {
  override shouldComponentUpdate(next: MachineRowProps): boolean {
    const { machine, index, columns, isSelected } = this.props;
    return (
      next.machine !== machine ||
      next.index !== index ||
      next.columns !== columns ||
      next.isSelected !== isSelected
    );
  }

  override render() {
    const { machine, index, columns, isSelected, onSelect } = this.props;
    const { name } = machine;
    const choose = (event: MouseEvent) => onSelect(name, event.shiftKey);
    return (
      <tr role="row" aria-rowindex={index + 2} data-index={index} class={isSelected ? "fleet-selected" : ""}>
        {isSelected !== null && (
          <td role="cell" class="fleet-select">
            <label>
              <input type="checkbox" checked={isSelected} aria-label={`Select ${name}`} onClick={choose} />
            </label>
          </td>
        )}
        <Cells machine={machine} columns={columns} />
      </tr>
    );
  }
}

/** The cells of a row, which are drawn again only if the machine or the columns change. */
class Cells extends Component<Pick<MachineRowProps, "machine" | "columns">> {
  override shouldComponentUpdate(next: Pick<MachineRowProps, "machine" | "columns">): boolean {
    return next.machine !== this.props.machine || next.columns !== this.props.columns;
  }

  override render() {
    const { machine, columns } = this.props;
    return columns.map((column) => (
      <td
        key={column.name}
        role="cell"
        class={`fleet-cell fleet-cell-${column.name}${column.isNumber ? " number" : ""}`}
      >
        {CELLS[column.name](machine)}
      </td>
    ));
  }
}

const NOT_KNOWN = "–";

/** Draws a text that may be cut, with the whole text as a tooltip. */
const known = (text: string | null): ComponentChildren =>
  text ? <span title={text}>{text}</span> : NOT_KNOWN;

const CELLS: Readonly<Record<FleetColumnName, (machine: FeedMachine) => ComponentChildren>> = {
  name: ({ name }) => (
    <Link href={hrefOf({ machine: name })} class="fleet-link" title={name}>
      {name}
    </Link>
  ),
  state: ({ state }) => <StateWord state={state} />,
  since: ({ sinceMs }) => <Time at={sinceMs} form="since" />,
  conditions: (machine) => <Amiss machine={machine} />,
  why: (machine) => {
    const text = whyText(machine);
    return text === "" ? null : <span title={text}>{text}</span>;
  },
  version: ({ versions }) => versions.shim || NOT_KNOWN,
  address: ({ address }) => address || NOT_KNOWN,
  age: ({ createdMs }) => <Time at={createdMs} form="age" />,
  skew: ({ skewMs }) => (skewMs === 0 ? null : `${skewMs < 0 ? "−" : "+"}${shortDuration(Math.abs(skewMs))}`),
  transport: ({ transport }) => transport,
  roles: ({ labels }) => known(rolesOf(labels).join(", ")),
  labels: ({ labels }) =>
    known(
      ownLabels(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(", "),
    ),
  kernel: ({ versions }) => known(versions.kernel),
  os: ({ versions }) => known(versions.os),
  runtime: ({ versions }) => known(versions.runtime),
  architecture: ({ versions }) => known(versions.architecture),
  cpu: ({ capacity }) => known(capacity["cpu"] ?? null),
  memory: ({ capacity }) => {
    const bytes = amountOf(capacity["memory"]);
    return known(bytes === null ? null : bytesText(bytes));
  },
};

/** Returns the operators' actions on the machine, and the reason of its state: `in maintenance; cordoned; …`. */
const whyText = ({ why, isUnschedulable, conditions }: FeedMachine): string =>
  [conditions[MAINTENANCE_IN_PROGRESS] === "True" && "in maintenance", isUnschedulable && "cordoned", why]
    .filter(Boolean)
    .join("; ");

/** Draws the first wrong condition and the number of further ones. The tooltip lists all of them. */
function Amiss({ machine: { conditions, why, state } }: { machine: FeedMachine }) {
  const amiss = amissConditions(conditions);
  const [first, ...more] = amiss;
  if (!first) return null;
  // If all wrong conditions are unknown, their names are left out: every silent machine has them.
  if (more.length > 0 && amiss.every(({ status }) => status === "Unknown"))
    return (
      <span class="fleet-condition fleet-condition-Unknown" title={amiss.map(conditionText).join(", ")}>
        {amiss.length} unknown
      </span>
    );
  const means = first.type === "Ready" && why !== "" ? why : CONDITION_EXPLANATIONS[first.type]?.means;
  return (
    <>
      <span class={`fleet-condition fleet-condition-${first.status}`} title={means}>
        {conditionText(first)}
        {state === "silent" && first.status !== "Unknown" && " when it reported last"}
      </span>
      {more.length > 0 && (
        <span class="quiet" title={more.map(conditionText).join(", ")}>
          +{more.length}
        </span>
      )}
    </>
  );
}
