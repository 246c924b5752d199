"""What the secrets of well-known issuers look like: data, one line for each form.

A form is an expression that matches the whole secret. It has a beginning that no other text has (or is looked for
only beside a word that has it), so a search can be spared where none of its `needs` (in lower case) occurs; and it ends
after a bounded number of characters, so that no text makes it slow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mnemic.text.late_pattern import late_pattern


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a secret. Where the expression has a group `secret`, only that is the secret."""

    kind: str
    needs: tuple[str, ...]
    expression: re.Pattern[str]


def _form(kind: str, needs: str, expression: str) -> Form:
    return Form(kind, tuple(needs.split()), late_pattern(rf"(?<![A-Za-z0-9_]){expression}(?![A-Za-z0-9])"))


_WORD = "[A-Za-z0-9_-]"

FORMS: tuple[Form, ...] = (
    _form("aws-access-key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _form("google-key", "aiza", rf"AIza{_WORD}{{35}}"),
    _form("google-token", "ya29. gocspx- 1//0", rf"(?:ya29\.|GOCSPX-|1//0){_WORD}{{20,500}}"),
    _form(
        "azure-key",
        "accountkey= sharedaccesskey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{42,88}={1,2})",
    ),
    _form("azure-key", "q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _form("azure-key", "sig=", r"sig=(?P<secret>[A-Za-z0-9%+/]{43,70}(?:%3[dD]|=))"),
    _form("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _form("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _form(
        "gitlab-token",
        "gl",
        r"gl(?:pat|oas|ptt|rt|dt|ft|soat|agent|cbt|imt|ffct|wt)-[A-Za-z0-9_.-]{19,300}[A-Za-z0-9_-]",
    ),
    _form("slack-token", "xox", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}"),
    _form("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,250}"),
    _form(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_+-]{20,200})",
    ),
    _form("stripe-key", "_live_ _test_ _prod_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,250}"),
    _form("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/]{32,100}={0,2}"),
    _form("anthropic-key", "sk-ant-", rf"sk-ant-{_WORD}{{20,300}}"),
    _form("openai-key", "sk-proj- sk-svcacct- sk-admin-", rf"sk-(?:proj|svcacct|admin)-{_WORD}{{20,300}}"),
    _form("openai-key", "t3blbkfj", r"sk-[A-Za-z0-9_-]{1,200}T3BlbkFJ[A-Za-z0-9_-]{1,200}"),
    _form("api-key", "sk-", r"sk-(?:or-v1-|[a-z]{2,8}-)?(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{28,100}"),
    _form("huggingface-token", "hf_ api_org_", r"(?:hf_|api_org_)[A-Za-z0-9]{30,60}"),
    _form("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _form("pypi-token", "pypi-age", rf"pypi-AgE{_WORD}{{50,1000}}"),
    _form("rubygems-token", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _form("docker-token", "dckr_", rf"dckr_[po]at_{_WORD}{{27,60}}"),
    _form("jwt", "eyj", rf"eyJ{_WORD}{{10,4000}}\.{_WORD}{{0,8000}}(?:\.{_WORD}{{10,8000}}){{1,3}}"),
    _form("sendgrid-key", "sg.", rf"SG\.{_WORD}{{20,24}}\.{_WORD}{{40,50}}"),
    _form("twilio-key", "sk", r"SK[0-9a-f]{32}"),
    _form("mailgun-key", "key-", r"key-[0-9a-f]{32}"),
    _form("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    _form("telegram-token", ":aa", rf"\d{{8,10}}:AA{_WORD}{{33}}"),
    _form("discord-token", ".", rf"[MNO][A-Za-z0-9]{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,40}}"),
    _form(
        "discord-webhook",
        "/api/webhooks/",
        rf"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{{10,24}}/{_WORD}{{40,100}})",
    ),
    _form("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _form("square-token", "sq0 eaaa", rf"(?:sq0[a-z]{{3}}-{_WORD}{{22,43}}|EAAA[A-Za-z0-9+=_-]{{60}})"),
    _form("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _form("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _form("vault-token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_WORD}{{24,300}}"),
    _form("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    _form("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,48}"),
    _form("notion-token", "secret_ ntn_", r"(?:secret|ntn)_[A-Za-z0-9]{40,50}"),
    _form("postman-key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _form("newrelic-key", "nrak-", r"NRAK-[A-Z0-9]{27}"),
    _form("grafana-token", "glsa_ glc_", r"(?:glsa|glc)_[A-Za-z0-9_+/]{32,400}={0,2}"),
    _form("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_+/=-]{40,400}"),
    _form("supabase-token", "sbp_ sb_secret_", r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,80})"),
    _form("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _form("figma-token", "figd_", rf"figd_{_WORD}{{40,60}}"),
    _form("atlassian-token", "atatt3", r"ATATT3[A-Za-z0-9_=-]{150,250}"),
    _form("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,60}"),
    _form("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,64}"),
    _form("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _form("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    _form("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,60}"),
    _form("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,100}"),
    _form("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-fA-F0-9]{32}_[a-fA-F0-9]{10}"),
    _form(
        "api-key",
        "csk- fc- llx- m0-",
        r"(?:csk-[a-z0-9]{40,60}|fc-[a-f0-9]{32}|llx-[A-Za-z0-9]{40,60}|m0-[A-Za-z0-9]{40})",
    ),
    _form("api-key", "tvly- nvapi- pcsk_ jina_", rf"(?:tvly-|nvapi-|pcsk_|jina_){_WORD}{{30,120}}"),
    _form("api-key", "sk-lf- sk_", r"(?:sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|sk_[a-f0-9]{48})"),
    _form("google-key", "aq.ab8rn6", rf"AQ\.Ab8RN6{_WORD}{{30,80}}"),
    _form("cloudflare-token", "cfat_ cfut_ cfk_", rf"cf(?:[au]t|k)_{_WORD}{{40,60}}"),
    _form("cloud-token", "apify_api_ ccipat_ clojars_", rf"(?:apify_api|CCIPAT|CLOJARS)_{_WORD}{{30,80}}"),
    _form(
        "cloud-token",
        "hrku- rnd_ nfp_ vcp_ bkua_ bkaa_ ddp_ ddw_",
        rf"(?:HRKU-|rnd_|nfp_|vcp_|bk[ua]a_|dd[pw]_){_WORD}{{30,100}}",
    ),
    _form("cloud-token", "swmtkn- swmkey- flyv1", r"(?:SWMTKN-1-|SWMKEY-1-|FlyV1 fm[12]_)[A-Za-z0-9+/=_-]{40,800}"),
    _form(
        "cloud-token",
        "dt0 pul- pnu_ sqp_ squ_ sqa_",
        r"(?:dt0[a-z]\d\d\.[A-Z0-9a-z]{24}\.[A-Z0-9a-z]{64}|(?:pul-|pnu_|sq[pua]_)[A-Za-z0-9]{36,44})",
    ),
    _form("cloud-token", "astracs: essu_ mlsn. cfpat-", r"(?:AstraCS:|essu_|mlsn\.|CFPAT-)[A-Za-z0-9:_-]{40,120}"),
    _form(
        "payment-key",
        "flwseck ez rzp_ duffel_",
        r"(?:FLWSECK(?:_TEST)?-[a-z0-9]{32}-X|EZ[AT]K[A-Za-z0-9]{54}|duffel_(?:live|test)_[A-Za-z0-9_=-]{43})",
    ),
    _form(
        "payment-key",
        "access-",
        r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    _form("artifactory-token", "akcp cmvmdgtu", r"(?:AKCp[A-Za-z0-9]{69}|cmVmdGtu[A-Za-z0-9]{56})"),
    _form(
        "bitbucket-token",
        "bbdc- atctt3 atbb",
        r"(?:BBDC-[A-Za-z0-9+/]{40,60}|ATCTT3[A-Za-z0-9_=-]{150,250}|ATBB[A-Za-z0-9]{32})",
    ),
    _form("facebook-token", "eaa", r"EAA[A-Z][A-Za-z0-9]{80,300}"),
    _form("alibaba-key", "ltai", r"LTAI[A-Za-z0-9]{16,26}"),
    _form("gitlab-token", "gr1348941", rf"GR1348941{_WORD}{{20}}"),
    _form("mnemic-key", "mn_", rf"mn_[A-Za-z0-9]{{4,40}}_{_WORD}{{16,200}}"),
    _form("age-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _form(
        "private-key",
        "private-lines:",
        r"Private-Lines: \d{1,3}\s{1,2}(?P<secret>[A-Za-z0-9+/=\s]{40,8000}?)(?=\s{1,2}Private-MAC)",
    ),
    _form(
        "bearer-token",
        "bearer",
        r"[Bb]earer[ \t]{1,3}(?P<secret>(?=[A-Za-z_.~+/-]{0,100}\d)[A-Za-z0-9._~+/-]{15,2000}[A-Za-z0-9_/-]={0,2})",
    ),
    _form(
        "basic-login",
        "basic",
        r"(?i:authorization)['\"]?\s{0,2}[:=]\s{0,2}['\"]?[Bb]asic[ ]{1,3}(?P<secret>[A-Za-z0-9+/]{8,1000}={0,2})",
    ),
)

KEY_BESIDE = late_pattern(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
"""The secret half of an AWS key pair: it has no beginning of its own, and is looked for near the other half only."""
