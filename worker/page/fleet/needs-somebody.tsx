// What needs somebody, most urgent first: to come.
export function NeedsSomebody() {
  return null;
}
