"""Which files and folders hold nothing to read, or nothing that may be read, by their names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath

HIDDEN = "it is hidden"
EMPTY = "it is empty"

_FOLDERS = """
    __pycache__ __pypackages__ __macosx node_modules bower_components jspm_packages venv virtualenv site-packages cvs
    lost+found deriveddata
"""
NO_CONTENT = frozenset({*_FOLDERS.split(), "$recycle.bin", "system volume information"})
"""Folders of programs, in lower case; what a project builds is better named by its `.gitignore`."""

MARKERS = {"pyvenv.cfg": "it is a Python environment", "CACHEDIR.TAG": "it is marked as a cache (CACHEDIR.TAG)"}
"""Files that say of their folder that it holds nothing of a person."""

_KINDS = {
    "a picture": """
        png jpg jpeg jpe gif bmp tif tiff webp ico icns svg svgz heic heif avif psd psb xcf raw cr2 nef arw dng ai eps
        tga dds exr hdr ppm pgm pbm sketch fig blend fbx stl glb""",
    "a recording": "mp3 wav flac ogg oga opus m4a m4b aac wma aif aiff mid midi amr ape mka ra caf",
    "a film": "mp4 m4v mov avi mkv webm wmv flv mpg mpeg 3gp ogv vob mts m2ts rm",
    "an archive": """
        zip tar gz tgz bz2 tbz tbz2 xz txz zst lz lz4 lzma 7z rar z cab arj ar cpio iso img dmg vhd vhdx vmdk qcow2 deb
        rpm apk aab ipa msi pkg jar war ear whl egg nupkg gem crx xpi snap appimage torrent""",
    "compiled": """
        pyc pyo pyd so dylib dll exe o obj a lib class wasm elf bin sys ko beam hi ilk pdb dsym nib elc ptx cubin
        swf rlib rmeta""",
    "a font": "ttf otf woff woff2 eot pfb pfm fon",
    "a database": "db sqlite sqlite3 db3 mdb accdb dbf frm ibd myd myi rdb ldb sst wal shm db-wal db-shm db-journal",
    "data for programs": """
        npy npz pkl pickle joblib parquet feather arrow orc avro h5 hdf5 nc mat rds rdata onnx pt pth ckpt safetensors
        gguf ggml tflite pb tfrecord bag pcap pcapng dmp core swp swo lnk blk idx pack rev""",
}
_BINARY = {f".{extension}": kind for kind, extensions in _KINDS.items() for extension in extensions.split()}

_SECRETS = """
    .env .env.* *.env .envrc *.pem *.key *.p8 *.p12 *.pfx *.jks *.keystore *.kdb *.kdbx *.ppk *.gpg *.pgp *.ovpn
    *.keychain *.keychain-db *.tfstate *.tfstate.* *.tfvars id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk
    .netrc _netrc .npmrc .yarnrc .pypirc .pgpass pgpass.conf .my.cnf .htpasswd htpasswd .git-credentials .dockercfg
    .s3cfg .boto .vault-token *.secret *.secrets client_secret*.json service-account*.json service_account*.json
    google-services.json wallet.dat shadow gshadow kubeconfig
"""
_NOUNS = "secret secrets credential credentials password passwords"
_FORMS = ".json .yaml .yml .toml .ini .cfg .conf .properties .txt .csv .xlsx .xml"
_SECRET_NAMES = (*_SECRETS.split(), *_NOUNS.split(), *(f"{n}{form}" for n in _NOUNS.split() for form in _FORMS.split()))


def holds_secrets(name: str) -> bool:
    """True for a name that files of keys and passwords have; such a file is not even read when it is named."""
    lower = name.lower()
    return any(fnmatchcase(lower, pattern) for pattern in _SECRET_NAMES)


def is_hidden(name: str) -> bool:
    """True for a name that begins with a dot."""
    return name.startswith(".")


def folder_reason(name: str) -> str | None:
    """Why a folder of this name is left out; None when it is not."""
    if is_hidden(name):
        return HIDDEN
    lower = name.lower()
    is_program = lower in NO_CONTENT or lower.endswith((".egg-info", ".dist-info"))
    return "it holds files of programs, no content" if is_program else None


def file_reason(name: str) -> str | None:
    """Why a file of this name is left out; None when it is not."""
    if holds_secrets(name):
        return "by its name it holds secrets"
    if is_hidden(name):
        return HIDDEN
    kind = _BINARY.get(PurePath(name).suffix.lower())
    return None if kind is None else f"it is {kind}, by its name"
