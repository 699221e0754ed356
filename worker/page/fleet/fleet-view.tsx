// The fleet: what needs somebody, and all machines.
import { CountsFilter } from "./counts-filter.tsx";
import { NeedsSomebody } from "./needs-somebody.tsx";

export function FleetView() {
  return (
    <>
      <h1>Fleet</h1>
      <CountsFilter />
      <NeedsSomebody />
    </>
  );
}
