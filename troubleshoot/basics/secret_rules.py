r"""What secrets look like: tables for :mod:`troubleshoot.basics.redact`. No table is compiled before its hint is seen.

Sources, looked up on 2026-11-23: the prefixes that vendors document; the default rules of gitleaks (MIT, commit b58d3f1, 2026-07-22) and
the plugins of detect-secrets 1.5.0 (Apache-2.0) for prefixes and lengths that vendors leave open; docs.wandb.ai and docs of Alibaba Cloud
Model Studio for keys of 2025 and later. Facts were taken over, no patterns: theirs look for whole files' lines and accept unbounded gaps.

Rules for rules. The text comes from strangers, so a pattern must take linear time on any text: it begins with a literal or a small class,
repeats nothing that another repeat can match as well, and bounds every repeat after which something must follow. tests/test_redact.py
measures each of them on hostile texts that are made from its own prefixes and hints.
"""

from __future__ import annotations

#: Characters of a token.
ALNUM = "[A-Za-z0-9]"
WORD = "[A-Za-z0-9_-]"
DOTTED = "[A-Za-z0-9_.=-]"
BASE64 = "[A-Za-z0-9+/=_-]"

#: (what it is, its characters, the least number of them, prefixes). A prefix counts at the beginning of a word, after an escape
#: (`\n`, `%3D`) and after an option of one letter (`-phf_...`).
TOKENS: tuple[tuple[str, str, int, tuple[str, ...]], ...] = (
    ("hugging face token", ALNUM, 16, ("hf_", "api_org_")),
    ("github token", "[A-Za-z0-9_]", 16, ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
    (
        "gitlab token",
        "[A-Za-z0-9_.-]",
        16,
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "GR1348941"),
    ),
    ("aws key", "[A-Z0-9]", 16, ("AKIA", "ASIA", "ABIA", "ACCA")),
    ("aws key", BASE64, 40, ("ABSK", "bedrock-api-key-")),
    ("google key", WORD, 30, ("AIza", "1//0")),
    ("google key", WORD, 20, ("GOCSPX-",)),
    ("google key", "[A-Za-z0-9_.-]", 20, ("ya29.",)),
    ("slack token", "[A-Za-z0-9.-]", 10, ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.xox", "xapp-")),
    ("npm token", ALNUM, 30, ("npm_",)),
    ("pypi token", WORD, 40, ("pypi-",)),
    ("stripe key", ALNUM, 10, ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_", "whsec_")),
    ("api key", WORD, 20, ("nvapi-", "tgp_v1_", "wandb_v1_", "KGAT_", "lsv2_pt_", "lsv2_sk_")),
    ("api key", WORD, 16, ("LTAI", "AKID")),
    ("modelscope token", "[0-9a-f-]", 32, ("ms-",)),
    ("digitalocean token", ALNUM, 20, ("dop_v1_", "doo_v1_", "dor_v1_")),
    ("databricks token", "[0-9a-f]", 32, ("dapi",)),
    ("docker token", WORD, 20, ("dckr_pat_", "dckr_oat_")),
    ("vault token", WORD, 20, ("hvs.", "hvb.", "hvr.")),
    ("sendgrid key", DOTTED, 40, ("SG.",)),
    ("mailgun key", "[0-9a-f]", 32, ("key-",)),
    ("twilio key", "[0-9a-f]", 32, ("SK",)),
    ("access token", WORD, 20, ("glsa_", "glc_", "lin_api_", "shpat_", "shpca_", "shppa_", "shpss_", "sq0atp-")),
    ("access token", WORD, 20, ("sq0csp-", "HRKU-AA", "tskey-")),
    ("access token", DOTTED, 20, ("sntrys_", "sntryu_", "pscale_tkn_", "pscale_oauth_", "pscale_pw_", "dp.pt.", "dt0c01.", "ops_eyJ")),
    ("access token", WORD, 20, ("sha256~", "AKCp", "ATATT3x", "ATCTT3x", "PMAK-", "xkeysib-")),
    # Comet, Neptune and Grafana encode an object of JSON, a JWT three parts.
    ("token", "[A-Za-z0-9_.=+/-]", 40, ("eyJ",)),
    ("private key", "[0-9A-Z]", 40, ("AGE-SECRET-KEY-1",)),
    # What is left of a private key in PEM whose first line was cut off.
    ("private key", r"(?:[A-Za-z0-9+/=]|(?:\r?\n|\\n)(?=[A-Za-z0-9+/]{30}))", 60, ("MII", "b3BlbnNzaC1rZXk")),
)
#: In the same form, prefixes that may begin an ordinary name as well (fw_, sk-learn-contrib): a digit must follow, and a word must begin.
#: OpenAI, Anthropic, OpenRouter, DeepSeek, DashScope and Langfuse; Replicate, Groq, Fireworks, xAI, Perplexity, Tavily, Voyage, Jina,
#: Cerebras, Anyscale, RunPod; Notion, Figma, Supabase, Fly, Netlify, PostHog, Sourcegraph, RubyGems, Pulumi, Prefect.
NAME_LIKE: tuple[tuple[str, str, int, tuple[str, ...]], ...] = (
    ("api key", WORD, 16, ("sk-",)),
    ("api key", ALNUM, 20, ("r8_", "gsk_", "fw_", "rpa_", "esecret_")),
    ("api key", WORD, 20, ("xai-", "pplx-", "tvly-", "pa-", "jina_", "csk-")),
    ("access token", ALNUM, 20, ("ntn_", "sbp_", "nfp_", "phc_", "phx_", "sgp_", "rubygems_", "pul-", "pnu_")),
    ("access token", WORD, 20, ("figd_", "fo1_")),
)

#: A line of a private key: base64, a header with the line below it, or what is left for the last line. A log or a comment may begin
#: each line with something of its own.
_BREAK = r"(?:\r?\n|\\r|\\n)"
_LINE_ENDS = r"(?=[ \t\"',|]{0,8}(?:[\r\n\\]|\Z))"
_KEY_LINE = (
    r"(?:[\s>|\"',]|\\[nr]){1,12}[A-Za-z0-9+/=]{16,}"
    rf"|{_BREAK}[^\r\n\\]{{0,120}}?(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{{16,}}+{_LINE_ENDS}"
    rf"|{_BREAK}[^\r\n\\]{{0,120}}?\b(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\r\n\\]{{0,200}}"
    rf"(?:{_BREAK}[^\r\n\\]{{0,60}}(?=[\r\n\\]))?"
    rf"|{_BREAK}[ \t>|#+]{{0,12}}(?=[A-Za-z]{{0,15}}[0-9+/=])[A-Za-z0-9+/]{{1,15}}={{0,2}}{_LINE_ENDS}"
)

#: (hints, pattern, replacement), in order. A pattern is tried where the lowered text holds one of its hints.
PATTERNS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("private key", "private-lines"),
        # With its end, or as many lines of base64 as follow where the end was cut off.
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:(?:(?!-----)[\s\S]){{0,60000}}+-----END [A-Z0-9 ]{{0,40}}-----|(?:{_KEY_LINE}){{0,1200}}+)",
        "[redacted:private key]",
    ),
    (
        ("private key",),
        r"---- BEGIN SSH2 [A-Z0-9 ]{0,20}PRIVATE KEY ----[^-]{0,20000}",
        "[redacted:private key]",
    ),
    (("private-lines",), r"(Private-Lines: [0-9]{1,3}\r?\n)(?:[A-Za-z0-9+/=]{4,}\r?\n?){1,300}", r"\1[redacted:private key]"),
    # The two halves of an AWS key side by side, as in the file that the console offers.
    (
        ("akia", "asia"),
        r"((?:AKIA|ASIA)[A-Z0-9]{16}['\"]?[\s,;:|/]{1,4}['\"]?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
        r"\1[redacted:secret]",
    ),
    # An address with a password: user:password@host, :password@host. A password may hold "@" and, where no port stands, "/".
    (("@",), r"://(?!\[redacted|[^ \t\r\n/]{0,128}:\[redacted)([^ \t\r\n/@:'\"\\]{0,128}):([^ \t\r\n/'\"]{1,256})@", r"://\1:[redacted:password]@"),
    (("@",), r"://([^ \t\r\n/@:'\"\\]{0,64}):(?![0-9]{1,5}[/?#]|\[redacted)[^ \t\r\n/@'\"]{1,64}/[^ \t\r\n@'\"]{1,64}@", r"://\1:[redacted:password]@"),
    # ... without a scheme, before a port or after the name of a proxy.
    (
        ("@",),
        r"(?<![A-Za-z0-9_./:@%+-])([A-Za-z_][A-Za-z0-9_.-]{0,63}):(?!\[redacted|//)(?=[^\s@]{0,127}[0-9])"
        r"([^\s/'\"@:,;()<>\[\]{}]{6,128})@(?!(?:cuda|cpu|[gnxhm]pu|mps)\b)(?=[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}:[0-9]{2,5}(?![0-9A-Za-z_.]))",
        r"\1:[redacted:password]@",
    ),
    (("proxy",), r"(?i)(proxy['\"]?[=:][ \t]{0,3}['\"]?[a-z0-9_.-]{1,64}:)(?!\[redacted)[^\s/'\"@:]{1,128}@", r"\1[redacted:password]@"),
    (
        ("identified",),
        r"((?:\bIDENTIFIED|\b(?:user|USER) [^\n;]{1,120}?\bidentified)(?i:[ \t]{1,4}"
        r"(?:with[ \t]{1,4}['\"]?[a-z0-9_]{1,60}['\"]?[ \t]{1,4})?(?:by|as)[ \t]{1,4}(?:password[ \t]{1,4})?)['\"])"
        r"(?!\[redacted)[^'\"\n]{1,200}",
        r"\1[redacted:password]",
    ),
    # ... and a token alone before the @, or as the user beside a password that says nothing.
    (("@",), r"([pPsS]://)(?!\[redacted)[^ \t\r\n/@:'\"\\]{12,400}@", r"\1[redacted:token]@"),
    (("@",), r"([pPsS]://)(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,400}(?=:\[redacted:password\]@)", r"\1[redacted:token]"),
    (
        ("?", "&", "%26", "%3f"),
        r"(?i)((?:[?&]|%26|%3f)(?:amp;)?[a-z0-9_.-]{0,30}(?:token|key|secret|sig|signature|passw(?:or)?d|pwd|credential|authkey|jwt)(?:=|%3d))"
        r"(?![\[<{$])[^\s&'\"#<>,)\]}\\]{6,}",
        r"\1[redacted:parameter]",
    ),
    (("code=",), r"([?&]code=)[A-Za-z0-9_/%.-]{20,}", r"\1[redacted:parameter]"),
    (
        ("authorization",),
        r"(?i)(authorization['\"\\]{0,6}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,6}"
        r"(?:bearer|basic|token|key|api-?key|oauth|negotiate|ntlm)[ \t]{1,3})"
        r"(?!\[redacted|<|\{|\$)[^\s'\",}\\]{4,}",
        r"\1[redacted:token]",
    ),
    (
        ("authorization",),
        r"(?i)(authorization['\"\\]{0,6}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,6}"
        r"(?:digest|aws4-hmac-sha256|hmac|snowflake)[ \t]{1,3})(?!\[redacted)[^\r\n'\\]{4,}",
        r"\1[redacted:token]",
    ),
    (
        ("cookie",),
        r"(?i)(\b(?:set-)?cookie['\"\\]{0,6}[ \t]{0,3}[:=,][ \t]{0,3}b?['\"\\]{0,6})(?=[A-Za-z0-9_.-]{1,60}=)[^\r\n'\"\\]{4,}",
        r"\1[redacted:cookie]",
    ),
    (("bearer",), r"(?i)(\bbearer[\s'\",:=+]{1,8})(?=[^\s]{0,60}[0-9])[A-Za-z0-9_.~+/=-]{12,}", r"\1[redacted:token]"),
    (("basic",), r"(?i)(\bbasic[ \t]{1,3})[A-Za-z0-9+/]{8,400}={1,2}", r"\1[redacted:token]"),
    (("hooks.slack.com",), r"(hooks\.slack\.com/[a-z]{1,20}/)[A-Za-z0-9/_-]{8,}", r"\1[redacted:webhook]"),
    (("/webhooks/",), r"(/webhooks/[0-9]{5,25}/)[A-Za-z0-9_-]{8,}", r"\1[redacted:webhook]"),
    (("/hook/", "/hook%2f"), r"(/open-apis/bot/(?:v2/)?hook/)[A-Za-z0-9-]{8,}", r"\1[redacted:webhook]"),
    (("webhook.office.com",), r"(webhook\.office\.com/)[A-Za-z0-9/@_.-]{20,}", r"\1[redacted:webhook]"),
    (("maker.ifttt.com",), r"(maker\.ifttt\.com/trigger/[^/\s]{1,60}/with/key/)[A-Za-z0-9_-]{8,}", r"\1[redacted:webhook]"),
    (("bot",), r"(api\.telegram\.org/(?:file/)?bot)[0-9A-Za-z:_-]{20,}", r"\1[redacted:bot token]"),
    ((":aa",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}", "[redacted:bot token]"),
    (
        ("discord", "client.run", "bot"),
        r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{22,27}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
        "[redacted:bot token]",
    ),
    (("q~",), r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}", "[redacted:azure secret]"),
    (("/t/",), r"(/t/)(?:[a-z]{2}-)?[0-9a-f]{8}-[0-9a-f-]{27}", r"\1[redacted:token]"),
    # Commands and calls that take a secret by its place.
    (
        ("login",),
        r"\b((?:wandb|modelscope|huggingface-cli|hf auth|hf|comet|kaggle|vault|neptune|clearml|swanlab|aim|mlflow)[ \t]{1,3}login"
        r"(?:[ \t]{1,4}--?[a-z-]{1,20}(?:=[^\s]{1,80})?){0,4}[ \t]{1,4})(?![-\[])(?=[^\s]{0,100}[0-9])[^\s'\"`]{12,}",
        r"\1[redacted:token]",
    ),
    (("login(",), r"(login\([ \t\n]{0,8}[bru]?['\"])(?!\[redacted)[A-Za-z0-9_.-]{16,}(?=['\"])", r"\1[redacted:token]"),
    (
        (".login(",),
        r"(\.login\([ \t]{0,4}[bru]?['\"][^'\"\n]{1,100}['\"],[ \t]{0,4}[bru]?['\"])(?!\[redacted)[^'\"\n]{3,200}",
        r"\1[redacted:password]",
    ),
    (
        ("auth", "cred"),
        r"(?i)((?:auth|creds?|credentials)['\"]?[ \t]{0,3}[=:][ \t]{0,3}"
        r"[a-z_.]{0,40}[(\[][ \t]{0,3}[bru]?['\"][^'\"\n]{0,100}['\"],[ \t]{0,3}[bru]?['\"])"
        r"(?!\[redacted)[^'\"\n]{1,200}",
        r"\1[redacted:password]",
    ),
    (("login",), r"(\blogin[ \t]{1,4}[^\s]{1,100}[ \t]{1,4}password[ \t]{1,4})(?!\[redacted)[^\s]+", r"\1[redacted:password]"),
    (("password",), r"(?m)^([ \t]{0,20}password[ \t]{1,8})(?!\[redacted|is\b|for\b)[^\s:=]{3,}[ \t]{0,8}$", r"\1[redacted:password]"),
    (
        ("--",),
        r"(--[a-z_-]{0,30}pass(?:word|wd|phrase)?[ \t]{1,8})(?![-$<\[\"'(]|(?:is|are|and|or|if|for|must|not|to|with|was|has|in|on|"
        r"requires?|instead|option|flag|argument|cannot|can)\b)[^\s\"'`,;)}\]]{3,}",
        r"\1[redacted:password]",
    ),
    # What is piped into a login.
    (
        ("--password-stdin", "login", "sudo -s"),
        r"(\becho[ \t]{1,4}(?:-n[ \t]{1,4})?['\"]?)(?![$\[])[^\s'\"|]{3,200}"
        r"(?=['\"]?[ \t]{0,4}\|[^|\n]{0,80}(?:--password-stdin|login|sudo -S))",
        r"\1[redacted:password]",
    ),
    (("--from-literal",), r"(--from-literal[= ]['\"]?[A-Za-z0-9_.-]{1,80}=)(?!\[redacted|\$)[^\s'\"]{3,}", r"\1[redacted:secret]"),
    (
        ("http-basic.",),
        r"(http-basic\.[A-Za-z0-9_-]{1,60}[ \t]{1,3}[^\s]{1,100}[ \t]{1,3})(?!\[redacted|\$)[^\s]{3,}",
        r"\1[redacted:password]",
    ),
    (("pass:",), r"(\bpass:)(?!\[redacted|\$)[^\s'\"]{4,}(?=[\s'\"]|\Z)", r"\1[redacted:password]"),
)  # fmt: skip

#: (the command's words, pattern whose first group stays). The option means a password only after one of the words, within 300 characters.
OPTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (
        (" -u", "-user", " -x"),
        ("curl", "wget", "httpie", "http ", "https "),
        r"([ \t](?:-u|--user|--proxy-user|-U|-x)[ =]{0,2}['\"]?[^\s:/'\"$]{0,100}:)[^\s'\"$]{1,200}",
    ),
    (
        (" -p",),
        ("sshpass", "mysql", "mariadb", "docker login", "podman login", "registry login", "twine upload", "mongo", "az login", "7z "),
        r"([ \t]-p[ \t]?['\"]?)(?![\s$\[-])[^\s'\"]{3,}",
    ),
    ((" -a",), ("redis-cli",), r"([ \t]-a[ \t]{1,3}['\"]?)(?![$\[-])[^\s'\"]{3,}"),
    ((" -p",), ("unzip", "zip "), r"([ \t]-P[ \t]?['\"]?)(?![\s$\[-])[^\s'\"]{3,}"),
)  # fmt: skip

#: Words that name a secret, in lower case; the groups say which kind. What may stand before and after them: below, and in redact.py.
PASSWORDS = "pass(?:words?|wd|wort|phrase|code)?|pwd|pw|密码|密碼|口令|пароль|contrase[nñ]a|senha|mot de passe|パスワード|비밀번호"
SECRETS = "secret|authorization|密钥|秘钥|密鑰|金鑰|私钥|私鑰|访问令牌|訪問權杖"
OTHERS = "token|key|auth|credential|jwt|session[_-]?id|sessid|令牌|權杖|凭证|凭据|憑證"
#: One of these characters stands in every one of the words above: a quick look before anything is compiled.
HINTS = (
    "pass", "pw", "secret", "token", "key", "auth", "credential", "jwt", "sess", "密", "口令", "钥", "鑰", "令牌", "權杖", "凭", "憑",
    "пароль", "contrase", "senha", "mot de passe", "パスワード", "비밀번호",
)  # fmt: skip

#: Before "token" these make a token of a tokenizer or of a parser, which is nobody's secret.
NO_SECRET = frozenset(
    {
        "added", "audio", "begin", "bos", "boundary", "class", "cls", "completion", "cur", "current", "decoder", "dist",
        "distillation", "end", "eos", "extra", "fim", "first", "forced", "image", "img", "input", "last", "latent", "mask", "max",
        "middle", "min", "new", "next", "non", "num", "object", "output", "pad", "padding", "per", "prefix", "prev", "prompt",
        "query", "register", "reserved", "sep", "special", "speech", "start", "stop", "sub", "suffix", "text", "think", "tok", "tool",
        "total", "unk", "user_defined", "video", "vision", "vocab", "word",
    }
)  # fmt: skip
#: Before "token" or "key" these make it a secret, whatever its value looks like.
QUALIFIERS = frozenset(
    {
        "access", "account", "admin", "aes", "ai21", "aliyun", "anthropic", "api", "apikey", "app", "auth", "authorization", "aws",
        "azure", "baidu", "bearer", "bot", "bucket", "client", "cloudflare", "cohere", "comet", "consumer", "csrf", "dashscope",
        "deepseek", "deploy", "dev", "device", "digitalocean", "discord", "dockerhub", "encryption", "fernet", "fireworks", "gcp",
        "gemini", "gh", "git", "gitea", "github", "gitlab", "google", "grafana", "groq", "hf", "hmac", "hub", "hubs", "hugging",
        "huggingface", "ingest", "integration", "jwt", "kaggle", "langchain", "langfuse", "langsmith", "license", "login", "master",
        "mistral", "mlflow", "modelscope", "moonshot", "neptune", "ngc", "ngrok", "notion", "npm", "nvidia", "oauth", "oauth2",
        "openai", "openrouter", "password", "perplexity", "personal", "pinecone", "private", "publish", "push", "pypi", "qianfan",
        "qwen", "refresh", "registry", "replicate", "rsa", "sas", "secret", "security", "sentry", "service", "session", "shared",
        "sign", "signing", "slack", "ssh", "ssl", "storage", "stripe", "subscription", "swanlab", "tavily", "telegram", "tencent",
        "together", "twitter", "upload", "vault", "verification", "volc", "voyage", "wandb", "webhook", "xai", "xsrf", "zhipu",
        "zhipuai",
    }
)  # fmt: skip
#: Before "pass" and "pw", which are ordinary words by themselves.
OWNERS = frozenset(
    {
        "admin", "basic", "broker", "database", "db", "email", "ftp", "http", "imap", "key", "login", "mail", "mongo", "my", "mysql",
        "password", "pg", "postgres", "proxy", "rabbitmq", "redis", "root", "server", "smtp", "sql", "ssh", "store", "sudo", "user",
        "vpn",
    }
)  # fmt: skip

_USER = r"[^\\/\s'\":,;()<>|*?\[%]"
#: What names a person or a machine, in the same form as PATTERNS.
PERSONAL: tuple[tuple[tuple[str, ...], str, str], ...] = (
    # The last part of a host is made of letters: transformers@4.50.1 is none. git@ is everybody.
    (
        ("@",),
        r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]{1,64}@(?=[A-Za-z0-9.-]{1,200}\.[A-Za-z]{2})[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}",
        "[redacted:e-mail]",
    ),
    # user@host, in a shell's prompt or an scp target
    (("@",), r"(?<![A-Za-z0-9._%+/@-])(?!git@)[a-z_][a-z0-9_.-]{0,31}@[A-Za-z][A-Za-z0-9-]{1,62}(?=[:\s~$#])", "[redacted:user]"),
    (("/home", "%2fhome"), r"((?:/|%2[fF])homes?[0-9]{0,2}(?:/|%2[fF]))(?!\[)[^/\s'\":,;)%\\]{1,64}", r"\1[user]"),
    # Windows names hold blanks, which count only where a separator follows. /users/ too: clusters have that.
    (
        ("users", "settings\\"),
        r"(?i)((?:[\\/]|%5c|%2f){1,4}(?:users|documents and settings)(?:[\\/]|%5c|%2f){1,4})"
        rf"(?!\[user|(?:public|shared|all users|default)\b)(?:{_USER}{{1,64}}(?:[ ]{_USER}{{1,40}}){{1,3}}(?=[\\/'\"])|{_USER}{{1,64}})",
        r"\1[user]",
    ),
    (
        ("user", "logname"),
        r"(?m)(?<![A-Za-z0-9_])((?:USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER|NB_USER)=['\"]?)(?!\[)[A-Za-z0-9._-]{1,64}",
        r"\1[user]",
    ),
)  # fmt: skip
#: Not after an operator or a letter: `cuda==12.8.0.38` is a version of four parts.
IPV4 = r"(?<![\w.=<>~!+-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w.+-])"
#: What stands before a release of four parts: the name of one of NVIDIA's packages, as `pip list` shows it.
BEFORE_A_RELEASE = r"(?i)(?:-cu[0-9]{2}|nvidia[a-z0-9_-]{0,30}|\bversion|\bdriver|\brelease)\"?[ \t:=]{1,30}\"?\Z"
#: The ranges that are given to machines: 2000::/3, fc00::/7, fe80::/10. So `dead::beef` and `c10::Half` are names of C++. Nor is it an
#: address where a name or a bracket precedes a bracket: a[2000::2] is a slice.
IPV6 = r"(?<![\w:.)\]%])(?<![\w)\]]\[)"
IPV6 += r"(?:[23][0-9a-fA-F]{3}|[fF][cCdD][0-9a-fA-F]{2}|[fF][eE][89abAB][0-9a-fA-F])(?=:)[0-9a-fA-F:]{3,40}+(?![\w:])"
