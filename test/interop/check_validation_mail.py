"""Checks that validation e-mails of one part and of several are parsed."""

import unittest
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from validation_mail import ValidationMail, parse_validation_mail

TOKEN = "2e47e4c5-ca16-4be4-9ddd-fce3fa02406a"
TEXT = f"Grüße,\n\nFingerprint: b6ca0fe9\nToken: {TOKEN}\n\nIt is valid for one hour.\n"


def delivered(message: EmailMessage) -> EmailMessage:
    return message_from_bytes(message.as_bytes(), _class=EmailMessage, policy=default)


class ValidationMails(unittest.TestCase):
    def setUp(self) -> None:
        self.message = EmailMessage()

    def check(self) -> None:
        mail = parse_validation_mail(delivered(self.message))
        self.assertEqual(mail, ValidationMail("b6ca0fe9", TOKEN))

    def test_one_part_in_every_encoding(self) -> None:
        for encoding in ("8bit", "quoted-printable", "base64"):
            with self.subTest(encoding):
                self.message.set_content(TEXT, cte=encoding)
                self.check()

    def test_text_beside_html(self) -> None:
        self.message.set_content(TEXT)
        self.message.add_alternative("<p>Fingerprint: <b>00000000</b></p>", subtype="html")
        self.check()

    def test_text_beside_html_and_an_attachment(self) -> None:
        self.message.set_content(TEXT)
        self.message.add_alternative("<p>…</p>", subtype="html")
        self.message.add_attachment(b"\x89PNG", maintype="image", subtype="png")
        self.check()

    def test_another_mail(self) -> None:
        self.message.set_content("Somebody tried to register with your address.")
        self.assertIsNone(parse_validation_mail(delivered(self.message)))


if __name__ == "__main__":
    unittest.main()
