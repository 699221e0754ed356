// Audit: to come.
export function AuditView() {
  return <h1>Audit</h1>;
}
