// Nothing is here yet: to come.
export function NoMachines() {
  return <p>No machine has enrolled yet.</p>;
}
