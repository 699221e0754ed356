resource "random_bytes" "tunnel_secret" {
  length = 32
}

# local: what it reaches is in infra/cloudflare/tunnel/config.yaml. Whoever has the account alone cannot point it elsewhere.
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
  # Access stands before what is proxied alone.
  proxied = true
  ttl     = 1

  # The hostname is never there without what refuses strangers.
  depends_on = [cloudflare_zero_trust_access_application.apiserver]
}

resource "cloudflare_connectivity_directory_service" "apiserver" {
  count      = var.with_vpc_service ? 1 : 0
  account_id = var.account_id
  name       = "rollcall-apiserver"
  type       = "http"
  # No http_port: nothing goes through without TLS.
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
