output "tunnel_id" {
  description = "For config.yaml in infra/cloudflare/tunnel or vpc."
  value       = cloudflare_zero_trust_tunnel_cloudflared.apiserver.id
}

output "tunnel_credentials" {
  description = "credentials.json of the Secret cloudflared-credentials."
  sensitive   = true
  value = jsonencode({
    AccountTag   = var.account_id
    TunnelID     = cloudflare_zero_trust_tunnel_cloudflared.apiserver.id
    TunnelSecret = random_bytes.tunnel_secret.base64
  })
}

output "kube_access_aud" {
  description = "audTag in infra/cloudflare/tunnel/config.yaml."
  value       = one(cloudflare_zero_trust_access_application.apiserver[*].aud)
}

output "kube_access_client_id" {
  description = "The Worker's secret KUBE_ACCESS_CLIENT_ID."
  value       = one(cloudflare_zero_trust_access_service_token.worker[*].client_id)
}

output "kube_access_client_secret" {
  description = "The Worker's secret KUBE_ACCESS_CLIENT_SECRET."
  sensitive   = true
  value       = one(cloudflare_zero_trust_access_service_token.worker[*].client_secret)
}

output "vpc_service_id" {
  description = "For the binding KUBE in wrangler's configuration."
  value       = one(cloudflare_connectivity_directory_service.apiserver[*].service_id)
}

output "access_aud" {
  description = "The Worker's variable ACCESS_AUD."
  value       = one(cloudflare_zero_trust_access_application.operators[*].aud)
}

output "programs_client_ids" {
  description = "CF_ACCESS_CLIENT_ID, or the header CF-Access-Client-Id, of each of var.programs."
  value       = { for name, token in cloudflare_zero_trust_access_service_token.programs : name => token.client_id }
}

output "programs_client_secrets" {
  description = "CF_ACCESS_CLIENT_SECRET, or the header CF-Access-Client-Secret, of each of var.programs."
  sensitive   = true
  value       = { for name, token in cloudflare_zero_trust_access_service_token.programs : name => token.client_secret }
}
