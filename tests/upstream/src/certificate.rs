//! A development authority and a server certificate for loopback names; also ones that no client should accept.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::parse_x509_pem;

/// The names the server certificate is valid for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// The longest validity that common clients accept.
const VALID: Duration = Duration::days(825);
/// The least validity left: a certificate that ends sooner is replaced.
const SPARE: Duration = Duration::days(7);

/// The kind of a certificate: valid, or with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateKind {
    /// A valid certificate.
    Good,
    /// It was valid until yesterday.
    Expired,
    /// It vouches for itself.
    SelfSigned,
}

/// The outcome of [`write()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateOutcome {
    /// New files were written.
    Written,
    /// Valid ones were there.
    Kept,
}

/// Writes `ca.crt`, `server.crt` and `server.key` to `directory`: for the loopback names unless valid
/// ones are there, for other `names` and of another `kind` always.
///
/// The key of the authority is thrown away: nothing else can ever be signed with it.
pub fn write(
    directory: &Path,
    names: &[String],
    kind: CertificateKind,
) -> Result<CertificateOutcome, String> {
    let at = |error: io::Error| {
        format!(
            "cannot write to {}: {error}; give a writable --out DIR",
            directory.display()
        )
    };
    fs::create_dir_all(directory).map_err(at)?;
    if names.is_empty() && kind == CertificateKind::Good && is_valid(directory) {
        return Ok(CertificateOutcome::Kept);
    }
    let made = make(names, kind).map_err(|error| format!("cannot make a certificate: {error}"))?;
    place(directory, "ca.crt", 0o644, &made.authority).map_err(at)?;
    place(directory, "server.key", 0o600, &made.key).map_err(at)?;
    place(directory, "server.crt", 0o644, &made.server).map_err(at)?;
    Ok(CertificateOutcome::Written)
}

/// The three files in PEM.
struct Made {
    authority: String,
    server: String,
    key: String,
}

fn make(names: &[String], kind: CertificateKind) -> Result<Made, rcgen::Error> {
    let authority_key = KeyPair::generate()?;
    let mut authority = params("trilane development CA", Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority_certificate = authority.self_signed(&authority_key)?;

    let key = KeyPair::generate()?;
    let names = if names.is_empty() {
        NAMES.map(str::to_owned).to_vec()
    } else {
        names.to_vec()
    };
    let mut server = params("localhost", names)?;
    server.use_authority_key_identifier_extension = true;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    if kind == CertificateKind::Expired {
        server.not_after = server.not_before - Duration::days(1);
        server.not_before = server.not_after - Duration::days(1);
    }
    let certificate = if kind == CertificateKind::SelfSigned {
        // One that may sign nothing would not count as its own issuer.
        server.use_authority_key_identifier_extension = false;
        server.key_usages.clear();
        server.self_signed(&key)?
    } else {
        server.signed_by(&key, &Issuer::new(authority, authority_key))?
    };
    Ok(Made {
        authority: authority_certificate.pem(),
        server: certificate.pem(),
        key: key.serialize_pem(),
    })
}

fn params(name: &str, names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    // A clock that is a little slow shall not refuse it.
    params.not_before = OffsetDateTime::now_utc() - Duration::hours(1);
    params.not_after = params.not_before + VALID;
    Ok(params)
}

/// Whether all files are there, belong together, and hold for a while.
fn is_valid(directory: &Path) -> bool {
    check(directory).unwrap_or(false)
}

fn check(directory: &Path) -> Option<bool> {
    let read = |name: &str| fs::read(directory.join(name)).ok();
    let (_, authority) = parse_x509_pem(&read("ca.crt")?).ok()?;
    let (_, server) = parse_x509_pem(&read("server.crt")?).ok()?;
    let (authority, server) = (authority.parse_x509().ok()?, server.parse_x509().ok()?);
    let key = KeyPair::from_pem(&String::from_utf8(read("server.key")?).ok()?).ok()?;
    let until = (OffsetDateTime::now_utc() + SPARE).unix_timestamp();
    let holds =
        |validity: &x509_parser::certificate::Validity| validity.not_after.timestamp() > until;
    let same_key = server.public_key().subject_public_key.data.as_ref() == key.public_key_raw();
    Some(
        holds(authority.validity())
            && holds(server.validity())
            && same_key
            && server.issuer() == authority.subject(),
    )
}

/// Writes a file beside its place and moves it there, so that no reader sees half of it.
fn place(directory: &Path, name: &str, mode: u32, text: &str) -> io::Result<()> {
    let draft = directory.join(format!(".{name}.{}", std::process::id()));
    let _ = fs::remove_file(&draft);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, directory.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn writes_once_and_again_when_something_is_amiss() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pki");
        assert_eq!(
            write(&path, &[], CertificateKind::Good),
            Ok(CertificateOutcome::Written)
        );
        assert_eq!(
            fs::metadata(path.join("server.key"))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600
        );
        assert_eq!(
            write(&path, &[], CertificateKind::Good),
            Ok(CertificateOutcome::Kept)
        );
        fs::write(
            path.join("server.key"),
            KeyPair::generate().unwrap().serialize_pem(),
        )
        .unwrap();
        assert_eq!(
            write(&path, &[], CertificateKind::Good),
            Ok(CertificateOutcome::Written)
        );
        fs::remove_file(path.join("ca.crt")).unwrap();
        assert_eq!(
            write(&path, &[], CertificateKind::Good),
            Ok(CertificateOutcome::Written)
        );
        assert_eq!(
            write(&path, &[], CertificateKind::Good),
            Ok(CertificateOutcome::Kept)
        );
        assert_eq!(fs::read_dir(&path).unwrap().count(), 3);
        let other = ["other.example".to_owned()];
        assert_eq!(
            write(&path, &other, CertificateKind::Good),
            Ok(CertificateOutcome::Written)
        );
        assert_eq!(
            write(&path, &other, CertificateKind::Good),
            Ok(CertificateOutcome::Written)
        );
    }

    #[test]
    fn some_are_not_to_be_accepted() {
        let directory = tempfile::tempdir().unwrap();
        for (kind, current, signed) in [
            (CertificateKind::Expired, false, true),
            (CertificateKind::SelfSigned, true, false),
            (CertificateKind::Good, true, true),
        ] {
            assert_eq!(
                write(directory.path(), &[], kind),
                Ok(CertificateOutcome::Written),
                "{kind:?}"
            );
            let read = |name: &str| {
                let text = fs::read(directory.path().join(name)).unwrap();
                parse_x509_pem(&text).unwrap().1
            };
            let (authority, server) = (read("ca.crt"), read("server.crt"));
            let (authority, server) = (authority.parse_x509(), server.parse_x509());
            let (authority, server) = (authority.unwrap(), server.unwrap());
            assert!(authority.validity().is_valid(), "{kind:?}");
            assert_eq!(server.validity().is_valid(), current, "{kind:?}");
            let by_authority = server.issuer() == authority.subject();
            assert_eq!(by_authority, signed, "{kind:?}");
            assert_eq!(server.issuer() == server.subject(), !signed, "{kind:?}");
            let names = server.subject_alternative_name().unwrap().unwrap();
            assert_eq!(names.value.general_names.len(), NAMES.len(), "{kind:?}");
        }
    }

    #[test]
    fn says_what_to_do_where_it_cannot_write() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let problem = write(file.path(), &[], CertificateKind::Good).unwrap_err();
        assert!(problem.contains("--out"), "{problem}");
    }
}
