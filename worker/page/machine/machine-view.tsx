// One machine.
export function MachineView({ name }: { name: string }) {
  return <h1>{name}</h1>;
}
