// Which columns are shown, chosen with checkboxes and kept in this browser.
import { columnToggled, FLEET_COLUMNS, type FleetColumn } from "./columns.ts";
import { FleetMenu } from "./fleet-menu.tsx";

interface ColumnsMenuProps {
  columns: readonly FleetColumn[];
  onChoose: (columns: readonly FleetColumn[]) => void;
}

export function ColumnsMenu({ columns, onChoose }: ColumnsMenuProps) {
  return (
    <FleetMenu title="Columns">
      <fieldset class="fleet-columns">
        <legend class="visually-hidden">Columns</legend>
        {FLEET_COLUMNS.map(({ name, title, hint }) => (
          <label key={name} title={hint}>
            <input
              type="checkbox"
              checked={columns.some((column) => column.name === name)}
              disabled={name === "name"}
              onChange={() => onChoose(columnToggled(columns, name))}
            />{" "}
            {title}
          </label>
        ))}
      </fieldset>
    </FleetMenu>
  );
}
