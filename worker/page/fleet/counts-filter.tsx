// The counts by state, as filters of the table: to come.
export function CountsFilter() {
  return null;
}
