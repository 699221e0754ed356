// One machine's row. It is drawn anew only where the machine is another object, or what is said of it here differs.
import { Component } from "preact";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { CELLS } from "./column-cells.tsx";
import type { FleetColumn } from "./columns.ts";

export interface MachineRowProps {
  machine: FeedMachine;
  /** From 0, of all rows. */
  index: number;
  columns: readonly FleetColumn[];
  /** null: nothing can be chosen. */
  isSelected: boolean | null;
  onSelect: (name: string, isRange: boolean) => void;
}

/** A class, because nothing else in Preact's core says that a row stays as it is. */
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

/** A row that has only moved keeps its cells. */
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
