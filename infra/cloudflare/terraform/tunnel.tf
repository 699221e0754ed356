resource "random_bytes" "tunnel_secret" {
  length = 32
}

# config_src is local: infra/cloudflare/tunnel/config.yaml names what the Tunnel reaches. An attacker with the
# Cloudflare account alone cannot change that.
resource "cloudflare_zero_trust_tunnel_cloudflared" "apiserver" {
  account_id    = var.account_id
  name          = "rollcall-apiserver"
  config_src    = "local"
  tunnel_secret = random_bytes.tunnel_secret.base64
}

resource "cloudflare_dns_record" "apiserver" {
  count   = var.kube_hostname == "" ? 0 : 1
  zone_id = var.zone_id
  name    = var.kube_hostname
  type    = "CNAME"
  content = "${cloudflare_zero_trust_tunnel_cloudflared.apiserver.id}.cfargotunnel.com"
  # Access protects proxied records only.
  proxied = true
  ttl     = 1

  # The Access application exists before the hostname, so that the hostname is never open to strangers.
  depends_on = [cloudflare_zero_trust_access_application.apiserver]
}

resource "cloudflare_connectivity_directory_service" "apiserver" {
  count      = var.with_vpc_service ? 1 : 0
  account_id = var.account_id
  name       = "rollcall-apiserver"
  type       = "http"
  # Without an http_port, the service accepts no connection without TLS.
  https_port = 443
  host = {
    hostname = "apiserver-proxy.rollcall-way.svc.cluster.local"
    resolver_network = {
      tunnel_id = cloudflare_zero_trust_tunnel_cloudflared.apiserver.id
    }
  }
  tls_settings = {
    cert_verification_mode = "verify_full"
  }
}
