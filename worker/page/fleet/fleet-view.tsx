// The fleet.
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { hrefOf } from "../base/route.ts";

export function FleetView() {
  const { live } = usePage();
  void live.revision.value;
  return (
    <ul>
      {[...live.machines().values()].slice(0, 50).map(({ name, state }) => (
        <li key={name}>
          <Link href={hrefOf({ machine: name })}>{name}</Link> <StateWord state={state} />
        </li>
      ))}
    </ul>
  );
}
