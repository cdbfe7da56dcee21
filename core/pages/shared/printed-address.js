const line = document.createElement('p');
line.className = 'on-paper';

addEventListener('beforeprint', () => {
  const owner = document.querySelector('.brand')?.textContent ?? '';
  line.textContent = `${owner} · ${location.href}`;
  document.body.append(line);
});
