"""Secrets with a recognisable format: for each, literals that select the lines to look at, and an expression.

Both are narrow, since a false alarm costs the user a line of code.  Group 1, if there is one, is the part that must
look random.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    kind: str
    literals: tuple[str, ...]
    expression: re.Pattern[str]


def _format(kind: str, literals: str, expression: str) -> Format:
    return Format(kind, tuple(literals.split()), re.compile(expression))


B = r"(?<![A-Za-z0-9_])"  # nothing before ...
E = r"(?![A-Za-z0-9_])"  # ... and nothing after that would make it another word
F = r"(?![A-Za-z0-9_-])"  # the same for alphabets with a hyphen

FORMATS = (
    # clouds
    _format("AWS access key", "akia asia abia acca", rf"{B}(?:AKIA|ASIA|ABIA|ACCA)([A-Z0-9]{{16}}){E}"),
    _format("AWS API key", "absk", rf"{B}ABSK([A-Za-z0-9+/]{{100,280}})"),
    _format("Google API key", "aiza", rf"{B}AIza([0-9A-Za-z_-]{{35}}){F}"),
    _format(
        "Google OAuth token", "ya29. gocspx- 1//0", rf"{B}(?:ya29\.|GOCSPX-(?=[\w-]{{28}}{F})|1//0)([\w-]{{20,}})"
    ),
    _format("Azure key", "accountkey=", r"(?i:accountkey)=([A-Za-z0-9+/]{86}==)"),
    _format("Azure key", "sharedaccesskey=", r"(?i:sharedaccesskey)=([A-Za-z0-9+/]{43}=)"),
    _format(
        "Azure client secret", "q~", r"(?<![A-Za-z0-9_~.-])([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![\w~.-])"
    ),
    _format("Azure signature", "sig=", r"[?&;]sig=([A-Za-z0-9%/+]{43,}(?:%3[Dd]|=))"),
    _format("Alibaba access key", "ltai", rf"{B}LTAI([A-Za-z0-9]{{17,21}}){E}"),
    _format("Tencent access key", "akid", rf"{B}AKID([A-Za-z0-9]{{32}}){E}"),
    _format("DigitalOcean token", "_v1_", rf"{B}do[opr]_v1_([a-f0-9]{{64}}){E}"),
    _format(
        "Cloudflare key", "v1.0- cfat_ cfut_ cfk_",
        rf"{B}(?:v1\.0-([a-f0-9]{{24}}-[a-f0-9]{{100,}})|cf(?:[au]t|k)_([A-Za-z0-9]{{40,}})){E}",
    ),
    _format("Heroku key", "hrku-", rf"{B}HRKU-([\w-]{{30,}})"),
    _format("Fly.io token", "fo1_ fm1a_ fm1r_ fm2_", rf"{B}f(?:o1|m1[ar]|m2)_([\w+/-]{{40,}})"),
    _format("Supabase token", "sbp_ sb_secret_", rf"{B}(?:sbp_|sb_secret_)([\w-]{{30,}})"),
    _format("PlanetScale token", "pscale_", rf"{B}pscale_(?:tkn|oauth|pw)_([\w=.-]{{32,64}})"),
    _format("Netlify token", "nfp_ nfc_", rf"{B}nf[pc]_([A-Za-z0-9]{{36,}}){E}"),
    _format("Vercel token", "vcp_ vercel_", rf"{B}(?:vcp_|vercel_[a-z]+_)([A-Za-z0-9]{{24,}}){E}"),
    # code and packages
    _format("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{B}gh[pousr]_([A-Za-z0-9]{{36,251}}){E}"),
    _format("GitHub token", "github_pat_", rf"{B}github_pat_([A-Za-z0-9_]{{60,90}}){E}"),
    _format(
        "GitLab token",
        "glpat- glptt- gldt- glrt- glft- glsoat- glcbt- gloas- glagent- glimt- glffct- glrtr- glwt- gr1348941",
        rf"{B}(?:gl(?:pat|ptt|dt|rt|ft|soat|cbt|oas|agent|imt|ffct|rtr|wt)-|GR1348941)([A-Za-z0-9_.-]{{20,}})",
    ),
    _format("Bitbucket token", "atbb atctt3 bbdc-", rf"{B}(?:ATBB|ATCTT3|BBDC-)([\w=-]{{28,}})"),
    _format("Atlassian token", "atatt3", rf"{B}ATATT3([A-Za-z0-9_=-]{{60,}})"),
    _format("npm token", "npm_", rf"{B}npm_([A-Za-z0-9]{{36}}){E}"),
    _format("PyPI token", "pypi-ag", rf"{B}pypi-(Ag[A-Za-z0-9_-]{{50,}})"),
    _format("RubyGems key", "rubygems_", rf"{B}rubygems_([a-f0-9]{{48}}){E}"),
    _format("Clojars token", "clojars_", rf"{B}CLOJARS_([a-z0-9]{{60}}){E}"),
    _format("NuGet key", "oy2", rf"{B}(oy2[a-z0-9]{{43}}){E}"),
    _format("Artifactory key", "akcp cmvmd", rf"{B}(?:AKCp|cmVmd)([A-Za-z0-9]{{59,70}}){E}"),
    _format("Docker token", "dckr_pat_ dckr_oat_", rf"{B}dckr_[po]at_([\w-]{{27,}})"),
    _format("Docker Swarm token", "swmtkn- swmkey-", rf"{B}SWM(?:TKN|KEY)-1-([\w/+-]{{40,}})"),
    _format("CI token", "ccipat_ bkua_ squ_ sqp_ sqa_", rf"{B}(?:CCIPAT_|bkua_|sq[upa]_)([A-Za-z0-9_]{{30,}})"),
    _format("Sentry token", "sntrys_ sntryu_", rf"{B}sntry[su]_([\w+/=-]{{40,}})"),
    _format("Sourcegraph token", "sgp_", rf"{B}sgp_(?:[a-f0-9]{{16}}_|local_)?([a-f0-9]{{40}}){E}"),
    # infrastructure
    _format("Vault token", "hvs. hvb. hvr.", rf"{B}hv[sbr]\.([\w-]{{24,}})"),
    _format("Terraform token", ".atlasv1.", rf"{B}[A-Za-z0-9]{{14}}\.atlasv1\.([\w-]{{60,}})"),
    _format("Pulumi token", "pul-", rf"{B}pul-([a-f0-9]{{40}}){E}"),
    _format(
        "Doppler token", "dp.pt. dp.st. dp.ct. dp.sa.",
        rf"{B}dp\.(?:pt|st|ct|sa)\.(?:[\w-]+\.)?([A-Za-z0-9]{{40,}})",
    ),
    _format("1Password token", "ops_ey", rf"{B}ops_(eyJ[\w+/=-]{{100,}})"),
    _format("age key", "age-secret-key-", rf"{B}(?i:AGE-SECRET-KEY)-1([A-Z0-9]{{58}}){E}"),
    _format("Databricks token", "dapi", rf"{B}dapi([a-f0-9]{{32}})(?:-\d)?{E}"),
    _format("OpenShift token", "sha256~", rf"{B}sha256~([\w-]{{43}}){F}"),
    _format("Tailscale key", "tskey-", rf"{B}tskey-(?:[a-z]+-)?([A-Za-z0-9]{{10,}}-[A-Za-z0-9]{{16,}})"),
    _format("Grafana token", "glsa_ glc_", rf"{B}gl(?:sa|c)_([A-Za-z0-9+/=_]{{32,}})"),
    _format("New Relic key", "nrak- nrii- nrra-", rf"{B}NR(?:AK|II|RA)-([\w-]{{27,}})"),
    _format("Dynatrace token", "dt0c01. dt0s16.", rf"{B}dt0[cs]\d\d\.([A-Z0-9]{{24}}\.[A-Z0-9]{{64}}){E}"),
    _format("PostHog key", "phx_ phs_ phr_ pha_", rf"{B}ph[xsra]_([A-Za-z0-9]{{40,}}){E}"),
    _format(
        "Slack token", "xoxb- xoxa- xoxp- xoxr- xoxs- xoxo- xoxe",
        rf"{B}xox[abeoprs](?:\.xox[bp])?-([0-9A-Za-z-]{{20,}})",
    ),
    _format("Slack token", "xapp-", rf"{B}xapp-\d-([0-9A-Za-z-]{{20,}})"),
    _format(
        "Slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(T\w{7,}/\w{8,}/\w{16,})",
    ),
    _format("Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([\w-]{60,})"),
    _format(
        "Discord token", "discord bot. client.login(",
        rf"{B}([MNO][A-Za-z\d_-]{{22,27}}\.[\w-]{{6}}\.[\w-]{{27,38}}){F}",
    ),
    _format("Teams webhook", ".webhook.office.com", r"\.webhook\.office\.com/webhookb2/\S{40,}/([a-f0-9]{32})/"),
    _format("Telegram token", ":aa", r"(?:(?<![\w:])|(?<=/bot))\d{8,10}:(AA[\w-]{33})(?![\w-])"),
    _format("SendGrid key", "sg.", rf"{B}SG\.([\w-]{{20,24}}\.[\w-]{{39,50}}){F}"),
    _format("Mailgun key", "key-", rf"{B}key-([0-9a-f]{{32}}){E}"),
    _format("Mailchimp key", "-us", rf"{B}([0-9a-f]{{32}})-us\d{{1,2}}{E}"),
    _format("mail API key", "xkeysib- mlsn.", rf"{B}(?:xkeysib-|mlsn\.)([a-f0-9]{{64}}(?:-\w{{16}})?){E}"),
    _format("Postman key", "pmak- pmat-", rf"{B}PMA[KT]-([A-Za-z0-9-]{{26,}})"),
    # money
    _format(
        "Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_",
        rf"{B}[sr]k_(?:live|test|prod)_([A-Za-z0-9]{{16,120}}){E}",
    ),
    _format("Stripe webhook secret", "whsec_", rf"{B}whsec_([A-Za-z0-9+/=]{{24,}})"),
    _format("Shopify token", "shpat_ shpca_ shppa_ shpss_", rf"{B}shp(?:at|ca|pa|ss)_([a-fA-F0-9]{{32}}){E}"),
    _format("Square token", "sq0atp- sq0csp- eaaa", rf"{B}(?:sq0(?:atp|csp)-|EAAA(?=[\w-]{{56,}}))([\w-]{{22,}})"),
    _format("PayPal token", "access_token$", r"access_token\$(?:production|sandbox)\$([0-9a-z]{16}\$[0-9a-f]{32})"),
    _format(
        "Plaid token", "access-production- access-development-",
        rf"{B}access-(?:production|development)-([0-9a-f-]{{36}})",
    ),
    _format("EasyPost key", "ezak eztk", rf"{B}EZ[AT]K([A-Za-z0-9]{{54}}){E}"),
    # models
    _format("Anthropic key", "sk-ant-", rf"{B}sk-ant-(?:[a-z]+\d+-)?([A-Za-z0-9_-]{{40,}})"),
    _format(
        "OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-None-",
        rf"{B}sk-(?:proj|svcacct|admin|or-v1|None)-([A-Za-z0-9_-]{{40,}})",
    ),
    _format("OpenAI key", "sk-", r"(?<![\w-])sk-([A-Za-z0-9]{32,64})(?![\w-])"),
    _format("Hugging Face token", "hf_ api_org_", rf"{B}(?:hf|api_org)_([A-Za-z0-9]{{34,40}}){E}"),
    _format(
        "model API key", "gsk_ xai- pplx- r8_ nvapi- pcsk_ lsv2_ tgp_v1_ csk- tvly- llx-",
        rf"{B}(?:gsk_|xai-|pplx-|r8_|nvapi-|pcsk_|lsv2_[ps]t_|tgp_v1_|csk-|llx-|tvly-(?:dev-|prod-)?)"
        rf"([A-Za-z0-9_-]{{22,}}){F}",
    ),
    # everything else
    _format("Facebook token", "eaac eaam eaab", rf"{B}EAA[CMB]([A-Za-z0-9]{{80,}}){E}"),
    _format(
        "Notion token", "ntn_ secret_",
        rf"{B}(?:ntn_(?=\d{{8}})([A-Za-z0-9]{{40,}})|secret_([A-Za-z0-9]{{43}})){E}",
    ),
    _format("Figma token", "figd_ figo_", rf"{B}fig[do]_([\w-]{{36,}})"),
    _format("Linear key", "lin_api_ lin_oauth_", rf"{B}lin_(?:api|oauth)_([A-Za-z0-9]{{40,64}}){E}"),
    _format("Dropbox token", "sl.u. sl.b", rf"{B}sl\.(?:u\.)?([\w-]{{120,}})"),
    _format("Typeform token", "tfp_", rf"{B}tfp_([\w.=-]{{50,}})"),
    _format("Contentful token", "cfpat-", rf"{B}CFPAT-([\w-]{{43}}){F}"),
    _format("Mapbox token", "sk.eyj", rf"{B}sk\.(eyJ[\w-]{{50,}}\.[\w-]{{20,}})"),
    _format("Shippo key", "shippo_live_ shippo_test_", rf"{B}shippo_(?:live|test)_([a-f0-9]{{40}}){E}"),
    _format("Prefect key", "pnu_ pnb_", rf"{B}pn[ub]_([A-Za-z0-9]{{36}}){E}"),
    _format("Adobe secret", "p8e-", rf"{B}p8e-([A-Za-z0-9-]{{32,}})"),
    _format("private key", "\"d\": 'd':", r"[\"']d[\"']\s*:\s*[\"']([A-Za-z0-9_-]{40,})[\"']"),
    _format("Akamai key", "akab-", rf"{B}akab-([a-z0-9]{{16}}-[a-z0-9]{{16}}){E}"),
    _format("private extended key", "xprv", rf"{B}xprv([A-HJ-NP-Za-km-z1-9]{{100,}}){E}"),
    _format(
        "wallet seed", "mnemonic seed_phrase seedphrase",
        r"(?i:mnemonic|seed_?phrase)\w*[^\w\n]{1,8}"
        r"((?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){3}){0,4}[a-z]{3,8})(?=[\"'`]|\s*$)",
    ),
    _format("private key", "accounts:", r"\baccounts:\s*\[\s*[\"'`](?:0x)?([0-9a-fA-F]{64})[\"'`]"),
    _format("saved password", "51:b:", r"(?i)\bpassword 51:b:[0-9A-F]{40}([0-9A-F]{64})"),
    # A vendor's prefix that is not in this list: acme_live_, acme_sk_, acme_pat_ and the like.
    _format(
        "API key", "_live_ _prod_ _pat_ _sk_ _secret_",
        rf"{B}(?!pk_)(?:[a-z][a-z0-9]{{1,11}}_(?:live|prod|pat|sk|secret)_)(?=[A-Za-z0-9]*\d[A-Za-z0-9]*\d)"
        rf"(?=[A-Za-z0-9]*[A-Za-z])([A-Za-z0-9]{{24,90}}){E}",
    ),
    _format("bearer token", "bearer", r"(?i:bearer) (?=\S*\d)([A-Za-z0-9_.+/=~-]{16,})"),
)  # fmt: skip
JWT = re.compile(r"(?<![\w-])(eyJ[A-Za-z0-9_-]{8,})\.(eyJ[A-Za-z0-9_-]{8,})\.([A-Za-z0-9_-]{16,})")
BEGIN_KEY = re.compile(
    r"-----? ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-----?|PuTTY-User-Key-File-\d|BEGIN OpenVPN Static key"
)
END_KEY = re.compile(r"-----? ?END |Private-MAC:")
# The beginning of a PEM block, as base64 of the whole block begins: kubeconfig has keys like that.
KEY_IN_BASE64 = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{60,}")
