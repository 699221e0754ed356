// Approvals: to come.
export function ApprovalsView() {
  return <h1>Approvals</h1>;
}
