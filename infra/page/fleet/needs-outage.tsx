// An open outage in one line, with its machines on a fold.
import { useSignal } from "@preact/signals";
import { hrefOf } from "../base/route.ts";
import { Link } from "../parts/link.tsx";
import { StateSign } from "../parts/state-word.tsx";
import type { OpenOutage } from "./needs-list.ts";
import { ClockTime, TableLink } from "./needs-text.tsx";
import { OUTAGE_TODO, outageCount } from "./needs-words.ts";

/** So many machines of an outage are listed; the table has all. */
const MACHINES_LISTED = 60;

export function OutageEntry({ entry: { outage, startedMs, machines } }: { entry: OpenOutage }) {
  const isOpen = useSignal(false);
  const more = outage.silent - Math.min(machines.length, MACHINES_LISTED);
  return (
    <li class="needs-outage">
      <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
        <summary>
          <StateSign state="silent" />
          <strong>{outageCount(outage)}</strong> silent since <ClockTime atMs={startedMs} /> behind{" "}
          <span class="mono">{outage.network}</span>{" "}
          <span class="quiet">— probably their power or network</span>
        </summary>
        {isOpen.value && (
          <div class="needs-inside">
            <p>{OUTAGE_TODO}</p>
            <ul class="needs-names">
              {machines.slice(0, MACHINES_LISTED).map(({ name }) => (
                <li key={name}>
                  <Link href={hrefOf({ machine: name })}>{name}</Link>
                </li>
              ))}
            </ul>
            <p>
              <TableLink shows={{ outage: String(outage.id) }}>
                {more > 0
                  ? `and ${more.toLocaleString("en")} more: show all in the table`
                  : "Show them in the table"}
              </TableLink>
            </p>
          </div>
        )}
      </details>
    </li>
  );
}
